// The network that counts as one client.

const groupsOfNetwork = 4

/** Returns the address; for IPv6 its /64, because a client with one address of it can use all of them. */
export function toNetwork(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [front = '', back] = address.split('::')
  const groups = front.split(':')
  if (back !== undefined) while (groups.length < groupsOfNetwork) groups.push('0')
  return groups.slice(0, groupsOfNetwork).join(':')
}
