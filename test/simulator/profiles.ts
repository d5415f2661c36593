// What kinds of trouble a random story may have. The seed picks one, unless the caller does.

export interface StoryProfile {
  readonly name: string
  /** The network splits, delays and drops. */
  readonly roughNetwork: boolean
  /** The disk takes time, and fails for a while. */
  readonly roughDisk: boolean
  /** The broker dies and is stopped. */
  readonly restarts: boolean
  /** Clients that do not obey. */
  readonly unruly: boolean
  /** Small limits in the broker. */
  readonly tight: boolean
  /** The answer to `may-connect` is late or no. */
  readonly slowVerdicts: boolean
}

const calm: StoryProfile = {
  name: 'calm',
  roughNetwork: false,
  roughDisk: false,
  restarts: false,
  unruly: false,
  tight: false,
  slowVerdicts: false,
}

export const profiles: readonly StoryProfile[] = [
  calm,
  { ...calm, name: 'network', roughNetwork: true, slowVerdicts: true },
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
    slowVerdicts: true,
  },
]

/** Crashes are what we are most afraid of: they get more than their share of the seeds. */
const dealt = ['calm', 'network', 'disk', 'crash', 'tight', 'unruly', 'everything', 'crash', 'everything']

export function profileOf(seed: number): StoryProfile {
  return profileNamed(dealt[seed % dealt.length])
}

export function profileNamed(name: string): StoryProfile {
  const found = profiles.find((profile) => profile.name === name)
  if (found === undefined)
    throw new Error(`no profile ${name}: there are ${profiles.map((profile) => profile.name).join(', ')}`)
  return found
}
