// One client, as its address shows it.

const groupsOfNetwork = 4

/** The address; of version 6 its /64, as a client that has one address of it has all of it. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [front = '', back] = address.split('::')
  const groups = front.split(':')
  if (back !== undefined) while (groups.length < groupsOfNetwork) groups.push('0')
  return groups.slice(0, groupsOfNetwork).join(':')
}
