// Why a connection between two nodes ends. A failure ends one connection, never a shard or the process.

/**
 * The numbers cross the connection in an `end` frame, so they stay as they are; new reasons get new numbers.
 *
 * `bad-frame`: bytes that are no valid frame. `frame-too-long`: above the limit. `authentication`: wrong secret. `wrong-cluster`,
 * `wrong-store`: the other node belongs to another cluster or uses other databases. `unknown-life`: not a member, or its life has ended.
 * `other-life`: a node of another life answered at the address. `old-run`: of a link thread that has restarted since.
 * `no-common-level`: the versions of the protocol do not overlap. `number-skipped`, `number-repeated`: frames are missing, or arrived twice.
 * `bad-mark`: the other side confirms what was never sent, or no longer confirms what it had. `unknown-channel`: data of a shard that was
 * not announced. `duplicate`: the other connection of this pair survives. `replaced`: a newer connection took over. `silent`: no sign of
 * life. `too-slow`: the handshake took too long. `life-ended`, `stopping`: of the own life. `network`: the connection broke.
 */
export const linkFailureCodes = {
  'bad-frame': 1,
  'frame-too-long': 2,
  authentication: 3,
  'wrong-cluster': 4,
  'wrong-store': 5,
  'unknown-life': 6,
  'other-life': 7,
  'old-run': 8,
  'no-common-level': 9,
  'number-skipped': 10,
  'number-repeated': 11,
  'bad-mark': 12,
  'unknown-channel': 13,
  duplicate: 14,
  replaced: 15,
  silent: 16,
  'too-slow': 17,
  'life-ended': 18,
  stopping: 19,
  network: 20,
} as const

export type LinkFailureReason = keyof typeof linkFailureCodes

const reasonsByCode = new Map(
  (Object.entries(linkFailureCodes) as [LinkFailureReason, number][]).map(([reason, code]) => [code, reason]),
)

/** Returns the reason of a code; undefined if a newer version has defined it. */
export function findLinkFailureReason(code: number): LinkFailureReason | undefined {
  return reasonsByCode.get(code)
}

/** Thrown by readers of frames, and caught where bytes of a connection arrive. */
export class LinkFailure extends Error {
  readonly reason: LinkFailureReason

  constructor(reason: LinkFailureReason, message: string) {
    super(message)
    this.reason = reason
  }
}
