// Measures the time of work, for limits of hostile input.

/** Processor time of this thread, because elapsed time depends on other work of the machine. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
