// Limits of archives and of their content. An archive may be malicious: data that is collected in memory has limits, and
// data that is only scanned has limits as well, so that a small archive cannot cause unlimited work.

export const archiveLimits = {
  /** Files and folders in one archive. */
  maxMembers: 2_000,
  /** Maximum bytes of all members together, decompressed. */
  maxBytes: 64 * 1024 ** 3,
  /** Maximum bytes of the compressed file. */
  maxCompressedBytes: 16 * 1024 ** 3,
  /** META.hocon */
  maxMetaBytes: 1_048_576,
  /** cluster.hocon */
  maxConfigurationBytes: 1_048_576,
  /** A certificate, a key, a file of rules. */
  maxFileBytes: 1_048_576,
  /** All certificates, keys and files of rules together. */
  maxTotalFileBytes: 33_554_432,
  maxFiles: 1_000,
  /** Zeros after the last member: tar fills its last record with them. */
  maxPaddingBytes: 1_048_576,
  /** Default maximum of one record of a table: the largest MQTT packet, in base64. */
  maxLineBytes: 360 * 1024 ** 2,
  /** A record without its payload. */
  maxLineBytesWithoutPayload: 1_048_576,
} as const
