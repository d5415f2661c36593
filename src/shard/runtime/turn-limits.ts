// When a turn ends: after some milliseconds. The clock is not read for each input, which would cost more than a message at QoS 0.

/** A turn ends after this; the rest of the input waits for the next one. */
export const maxTurnMs = 4
/** Inputs that cause no output take time as well. */
const packetsBetweenLooks = 1_024
/** A plan for a new topic, or a changed subscription, may cost as much as a hundred messages that follow a plan. */
const costlyStepsBetweenLooks = 16

/** Whether the clock is to be read now, after `inputs` of this turn and `costlySteps` since it was read last. */
export function isClockDue(inputs: number, costlySteps: number, inputsBetweenLooks = packetsBetweenLooks): boolean {
  return inputs % inputsBetweenLooks === 0 || costlySteps >= costlyStepsBetweenLooks
}

/** Sends are collected up to this number before they are encoded: what the core made is still in the cache then. */
export const maxSendsBetweenDrains = 4_096

const maxUnsentReportBytes = 65_536
const unsentReportShare = 1 / 4

/** Reports of sent bytes are worth a call where this much waits for the client, by itself or of what is allowed. */
export function unsentReportBytes(maxUnsentBytes: number): number {
  return Math.min(maxUnsentReportBytes, maxUnsentBytes * unsentReportShare)
}
