// Ends a turn after some milliseconds. The clock is not read for each input, because that would cost more than a QoS 0
// message.

/** Maximum duration of a turn; the rest of the input waits for the next one. */
export const maxTurnMs = 4
/** The clock is also read after this number of packets without outputs, because they take time as well. */
const packetsBetweenClockReads = 1_024
/** A match plan for a new topic, or a changed subscription, may cost as much as a hundred messages that use a plan. */
const costlyStepsBetweenClockReads = 16

/** Returns whether to read the clock now, after `inputs` of this turn and `costlySteps` since the last read. */
export function isClockDue(
  inputs: number,
  costlySteps: number,
  inputsBetweenClockReads = packetsBetweenClockReads,
): boolean {
  return inputs % inputsBetweenClockReads === 0 || costlySteps >= costlyStepsBetweenClockReads
}

/** Maximum number of sends before they are encoded, so that the core's objects are still in the processor cache. */
export const maxUnencodedSends = 4_096

const maxUnsentReportBytes = 65_536
const unsentReportShare = 1 / 4

/** Returns the number of unsent bytes of a client from which on each completed write is reported to the core. */
export function computeUnsentReportBytes(maxUnsentBytes: number): number {
  return Math.min(maxUnsentReportBytes, maxUnsentBytes * unsentReportShare)
}
