// The records of a link, by their first byte.

export const recordKinds = {
  /** Messages with everything in common but their frames, see publish-writer.ts. */
  publishRun: 1,
  /** One message with all that may come with it. */
  publishAlone: 2,
  /** `committed` without refusals: comes with every batch. */
  committed: 3,
  /** The head of a `retained-found`, and each of its messages behind it. */
  retainedFound: 4,
  retainedMessage: 7,
  /** Every other peer message, as a structured clone. */
  rare: 5,
  /** So many bytes of posts have been taken in since the last time. */
  taken: 6,
  /** The shard stops, and has said all. */
  farewell: 8,
  /** From the shard with the socket to the shard with the session, each with the number of the relay. */
  relayOpen: 10,
  relayData: 11,
  relaySent: 12,
  relayClosed: 13,
  /** And back. */
  relayWrite: 20,
  relayCredit: 21,
  relayEnd: 22,
  relayDestroy: 23,
} as const
