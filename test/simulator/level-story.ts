// The same stories on the real LevelDB store, in a directory of its own. The simulated disk still decides when a batch
// is written and what a death leaves; the store has to keep it, and to give it back after each start.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { profileOf, type StoryProfile } from './profiles.ts'
import { RandomStory } from './random-story.ts'
import { endOf, faultOf, type StoryEnd } from './run-story.ts'
import { levelStoreKeeper } from './store-keeper.ts'

export async function runStoryOnLevel(
  seed: number,
  options: { profile?: StoryProfile | undefined; isTold?: boolean; shards?: number } = {},
): Promise<StoryEnd> {
  const directory = await mkdtemp(join(tmpdir(), 'godwit-story-'))
  const keeper = levelStoreKeeper(directory)
  const story = new RandomStory({ seed, ...options, keeper })
  const profile = (options.profile ?? profileOf(seed)).name
  let fault: string | undefined
  try {
    for (const ms of story.tell()) await story.world.passMsAsync(ms)
    await story.judge()
  } catch (error) {
    fault = faultOf(error, seed)
  }
  await keeper.close()
  await rm(directory, { recursive: true, force: true })
  return endOf(story, { seed, profile, fault })
}
