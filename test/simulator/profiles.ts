// The kinds of faults of a random scenario. The seed selects one, unless the caller does.

export interface ScenarioProfile {
  readonly name: string
  /** The network splits, delays and drops. */
  readonly roughNetwork: boolean
  /** The disk takes time, and fails for a while. */
  readonly roughDisk: boolean
  /** The broker crashes and is stopped. */
  readonly restarts: boolean
  /** Clients violate the protocol. */
  readonly unruly: boolean
  /** The broker has small limits. */
  readonly tight: boolean
  /** The response to `authenticate` is late or negative. */
  readonly slowDecisions: boolean
}

const calm: ScenarioProfile = {
  name: 'calm',
  roughNetwork: false,
  roughDisk: false,
  restarts: false,
  unruly: false,
  tight: false,
  slowDecisions: false,
}

export const profiles: readonly ScenarioProfile[] = [
  calm,
  { ...calm, name: 'network', roughNetwork: true, slowDecisions: true },
  { ...calm, name: 'disk', roughDisk: true, roughNetwork: true },
  { ...calm, name: 'crash', roughDisk: true, restarts: true },
  { ...calm, name: 'tight', roughNetwork: true, tight: true },
  { ...calm, name: 'unruly', roughNetwork: true, unruly: true },
  {
    name: 'everything',
    roughNetwork: true,
    roughDisk: true,
    restarts: true,
    unruly: true,
    tight: true,
    slowDecisions: true,
  },
]

/** Crashes cause the most serious defects, so they have a larger part of the seeds. */
const profileOrder = ['calm', 'network', 'disk', 'crash', 'tight', 'unruly', 'everything', 'crash', 'everything']

export function profileOf(seed: number): ScenarioProfile {
  return profileNamed(profileOrder[seed % profileOrder.length])
}

export function profileNamed(name: string): ScenarioProfile {
  const found = profiles.find((profile) => profile.name === name)
  if (found === undefined)
    throw new Error(`no profile ${name}: there are ${profiles.map((profile) => profile.name).join(', ')}`)
  return found
}
