// Runs one story from its seed, in memory or on the real LevelDB store, and says how it ended.

import { profileOf } from './profiles.ts'
import { RandomStory, type StoryOptions } from './random-story.ts'
import { Violation } from './stage.ts'

export interface StoryEnd {
  readonly seed: number
  readonly profile: string
  /** What was broken, in a sentence; undefined if nothing was. */
  readonly fault: string | undefined
  readonly story: readonly string[]
  /** Messages that reached somebody: a story in which nothing happens proves nothing. */
  readonly delivered: number
}

export function runStory(seed: number, options: Omit<StoryOptions, 'seed' | 'keeper'> = {}): StoryEnd {
  const story = new RandomStory({ seed, ...options })
  const profile = (options.profile ?? profileOf(seed)).name
  let fault: string | undefined
  try {
    for (const ms of story.tell()) story.world.passMs(ms)
    if (story.judge() instanceof Promise) throw new Error('a scenario in memory takes no real time')
  } catch (error) {
    fault = faultOf(error, seed)
  }
  return endOf(story, { seed, profile, fault })
}

export function endOf(
  story: RandomStory,
  known: { seed: number; profile: string; fault: string | undefined },
): StoryEnd {
  const delivered = story.actors.reduce((sum, { client }) => sum + client.messages.length, 0)
  return { ...known, story: story.world.story, delivered }
}

/** The broker's own assertions are faults like any other; a story that cannot be told is one as well. */
export function faultOf(error: unknown, seed: number): string {
  if (error instanceof Violation) return error.message
  return `the broker or the world stopped: ${error instanceof Error ? (error.stack ?? error.message) : String(error)} [seed ${seed}]`
}
