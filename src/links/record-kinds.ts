// The records of a link, by their first byte.

export const recordKinds = {
  /** Messages that differ in their frames only, see publish-writer.ts. */
  publishRun: 1,
  /** One message with all its details. */
  publishSingle: 2,
  /** `committed` without refusals: sent with every batch. */
  committed: 3,
  /** The header of a `retained-response`, and each of its messages after it. */
  retainedResponse: 4,
  retainedMessage: 7,
  /** Every other peer message, as a structured clone. */
  clone: 5,
  /** The number of bytes of link buffers that were handled since the last report. */
  credit: 6,
  /** The shard stops, and sends no further messages. */
  shutdown: 8,
  /** From the shard with the socket to the shard with the session, each with the number of the relay. */
  relayOpen: 10,
  relayData: 11,
  relaySent: 12,
  relayClosed: 13,
  /** The changed properties of a gateway client, as a structured clone. */
  relayedClient: 14,
  /** The client has ended its direction. */
  relayPeerEnd: 15,
  /** Response to `relayDrain`: everything that had arrived from the client was sent before. */
  relayDrained: 16,
  /** From the shard with the session to the shard with the socket. */
  relayWrite: 20,
  relayCredit: 21,
  relayEnd: 22,
  relayDestroy: 23,
  relayDrain: 24,
} as const
