const msPerSecond = 1_000

/** Returns the interval of PINGREQ packets to the broker: half of the keep alive. Infinity: without a keep alive, it needs none. */
export function toPingIntervalMs(keepAliveSeconds: number): number {
  return keepAliveSeconds === 0 ? Infinity : (keepAliveSeconds * msPerSecond) / 2
}
