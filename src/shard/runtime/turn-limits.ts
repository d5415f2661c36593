// Ends a turn after some milliseconds. The clock is not read for each input, because that would cost more than a QoS 0
// message.

/** Maximum duration of a turn; the rest of the input waits for the next one. */
export const maxTurnMs = 4
/** Inputs without outputs take time as well. */
const packetsBetweenLooks = 1_024
/** A plan for a new topic, or a changed subscription, may cost as much as a hundred messages that use a plan. */
const costlyStepsBetweenLooks = 16

/** Returns whether to read the clock now, after `inputs` of this turn and `costlySteps` since the last read. */
export function isClockDue(inputs: number, costlySteps: number, inputsBetweenLooks = packetsBetweenLooks): boolean {
  return inputs % inputsBetweenLooks === 0 || costlySteps >= costlyStepsBetweenLooks
}

/** Maximum number of sends before they are encoded, so that the core's objects are still in the processor cache. */
export const maxSendsBetweenDrains = 4_096

const maxUnsentReportBytes = 65_536
const unsentReportShare = 1 / 4

/** Sent bytes are reported to the core when the unsent bytes of a client exceed this, or this part of the limit. */
export function unsentReportBytes(maxUnsentBytes: number): number {
  return Math.min(maxUnsentReportBytes, maxUnsentBytes * unsentReportShare)
}
