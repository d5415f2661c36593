// Limits of archives and of their content. An archive may be malicious: everything that is collected in memory has a
// limit, and what is only read through has one as well, so that little bytes do not become work without an end.

export const archiveLimits = {
  /** Files and folders in one archive. */
  members: 2_000,
  /** Maximum bytes of all members together, decompressed. */
  bytes: 64 * 1024 ** 3,
  /** Maximum bytes of the compressed file. */
  packedBytes: 16 * 1024 ** 3,
  /** META.hocon */
  metaBytes: 1_048_576,
  /** cluster.hocon */
  configurationBytes: 1_048_576,
  /** A certificate, a key, a file of rules. */
  fileBytes: 1_048_576,
  /** Maximum bytes of these files together. */
  filesBytes: 33_554_432,
  files: 1_000,
  /** Zeros behind the last member: tar fills up its last record. */
  paddingBytes: 1_048_576,
  /** Default maximum of one record of a table: the largest MQTT packet, in base64. */
  lineBytes: 360 * 1024 ** 2,
  /** All that a record has but its payload. */
  lineBytesBesidePayload: 1_048_576,
} as const
