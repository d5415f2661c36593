// Loopback addresses: limits per address do not apply to them, because all clients of this machine have the same address.

export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}
