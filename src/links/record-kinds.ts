// The records of a link, by their first byte, and the level of their encoding.

/**
 * Version of the encoding that this program writes: the only field of the first record of each direction. Increase it with each change of a
 * record. A node reads its own level and the one before, so that the nodes of a cluster can be replaced one after the other.
 */
export const encodingLevel = 1
export const oldestReadableLevel = 1

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
  /** The number of bytes of link buffers that were handled since the last report. */
  credit: 6,
  /** The shard stops, and sends no further messages. */
  shutdown: 8,
  /** The first record: the encoding level. */
  opening: 9,
  /** From the shard with the socket to the shard with the session, each with the number of the relay. */
  relayOpen: 10,
  relayData: 11,
  relaySent: 12,
  relayClosed: 13,
  /** The changed properties of a gateway client. */
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
  /** Peer messages, see peer-message-records.ts. */
  interest: 40,
  interestSeen: 41,
  release: 42,
  releaseRequest: 43,
  /** `committed` with refusals, or with messages that are not durable yet. */
  committedInPart: 44,
  retainedRequest: 45,
  retainedCancelled: 46,
  exclusiveRequest: 47,
  exclusiveReleased: 48,
  exclusiveResponse: 49,
  numbersVoid: 50,
} as const
