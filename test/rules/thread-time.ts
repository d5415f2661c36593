// Time that work takes, for limits of hostile input.

/** Of the processor, in this thread: what else runs on the machine does not count. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
