// Runs stories in which queues are read by the real readers, in steps that take simulated time: those about readers, and the ordinary
// ones. The store is in memory or LevelDB. One story at a time: the timers of the readers are those of the process.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { profileOf, type StoryProfile } from './profiles.ts'
import { RandomStory } from './random-story.ts'
import { ReaderStory } from './reader-story.ts'
import { endOf, faultOf, type StoryEnd } from './run-story.ts'
import { levelStoreKeeper, memoryStoreKeeper, type StoreKeeper } from './store-keeper.ts'

interface Options {
  readonly isTold?: boolean
  readonly shards?: number
  readonly onLevel?: boolean
}

export interface ReaderStoryEnd extends StoryEnd {
  /** Parts of queues that were asked for. */
  readonly parts: number
}

export async function runReaderStory(seed: number, { onLevel, ...options }: Options = {}): Promise<ReaderStoryEnd> {
  return await withKeeper(onLevel, async (keeper) => {
    const story = new ReaderStory({
      seed,
      keeper,
      reopen: onLevel === true ? () => keeper.store.reopen() : undefined,
      ...options,
    })
    const { world, reads } = story
    const fault = await faultIn(seed, async () => {
      for (const ms of story.tell()) await world.passMsAsync(ms)
    })
    reads.end()
    return {
      seed,
      profile: 'readers',
      fault: reads.fault ?? fault,
      story: world.story,
      delivered: story.delivered,
      parts: reads.parts,
    }
  })
}

/** An ordinary story whose queues are read slowly. */
export async function runStoryReadingSlowly(
  seed: number,
  { onLevel, ...options }: Options & { readonly profile?: StoryProfile | undefined } = {},
): Promise<StoryEnd> {
  return await withKeeper(onLevel, async (keeper) => {
    const story = new RandomStory({ seed, keeper, readsSlowly: true, ...options })
    const { world } = story
    const fault = await faultIn(seed, async () => {
      for (const ms of story.tell()) await world.passMsAsync(ms)
      await story.judge()
    })
    world.reads?.end()
    const profile = (options.profile ?? profileOf(seed)).name
    return endOf(story, { seed, profile, fault: world.reads?.fault ?? fault })
  })
}

async function faultIn(seed: number, tell: () => Promise<void>): Promise<string | undefined> {
  try {
    await tell()
    return undefined
  } catch (error) {
    return faultOf(error, seed)
  }
}

async function withKeeper<End>(onLevel = false, tell: (keeper: StoreKeeper) => Promise<End>): Promise<End> {
  if (!onLevel) return await tell(memoryStoreKeeper())
  const directory = await mkdtemp(join(tmpdir(), 'godwit-story-'))
  const keeper = levelStoreKeeper(directory)
  const end = await tell(keeper)
  await keeper.close()
  await rm(directory, { recursive: true, force: true })
  return end
}
