// The same stories on the real LevelDB store, in a directory of its own. The simulated disk still decides when a batch
// is written and what a death leaves; the store has to keep it, and to give it back after each start.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageRecordKey, StoredChange, StoredMessage, StoredRecord } from '../../src/core/index.ts'
import {
  openLevelStore,
  type PartWanted,
  QueueReaders,
  readAllQueueBounds,
  type Store,
} from '../../src/storage/index.ts'
import { inStartOrder, startKinds, type Keeper, type QueueSlice, type StartRecords } from './keeper.ts'
import { profileOf, type StoryProfile } from './profiles.ts'
import { RandomStory } from './random-story.ts'
import { endOf, faultOf, type StoryEnd } from './run-story.ts'

class LevelKeeper implements Keeper {
  private readonly directory: string
  private store: Store | undefined
  private readers: QueueReaders | undefined

  constructor(directory: string) {
    this.directory = directory
    this.store = undefined
    this.readers = undefined
  }

  async apply(changes: readonly StoredChange[]): Promise<void> {
    await this.opened().commit(changes)
  }

  async readStart(): Promise<StartRecords> {
    const store = this.opened()
    const records = await this.readKinds(startKinds)
    const queues = await all(readAllQueueBounds(store))
    const bodies = (await all(store.countBodyReferences())).flat()
    return inStartOrder({ records, queues, bodies })
  }

  async readQueue(wanted: PartWanted): Promise<QueueSlice> {
    this.readers ??= new QueueReaders(this.opened())
    return await this.readers.read(wanted)
  }

  async readMessage(of: MessageRecordKey): Promise<StoredMessage | undefined> {
    for await (const record of this.opened().read(of)) return messageOf(record)
    return undefined
  }

  async readAll(): Promise<StoredRecord[]> {
    return await this.readKinds([...startKinds, 'queued', 'body'])
  }

  async reopen(): Promise<void> {
    await this.close()
    this.store = await openLevelStore({
      directory: this.directory,
      // A power loss of the real disk is not part of these stories: they are about what is written and read.
      sync: 'never',
      syncIntervalMs: 1_000,
      onAlarm: (alarm) => {
        throw new Error(`the store raised an alarm: ${alarm.text}`)
      },
    })
  }

  async close(): Promise<void> {
    await this.readers?.close()
    this.readers = undefined
    await this.store?.close()
    this.store = undefined
  }

  private opened(): Store {
    if (this.store === undefined) throw new Error('the store is not open')
    return this.store
  }

  private async readKinds(kinds: readonly StoredRecord['kind'][]): Promise<StoredRecord[]> {
    const found: StoredRecord[] = []
    for (const kind of kinds) for await (const record of this.opened().read({ kind })) found.push(record)
    return found
  }
}

function messageOf(record: StoredRecord): StoredMessage | undefined {
  return record.kind === 'will' || record.kind === 'retained' ? record.message : undefined
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of source) found.push(one)
  return found
}

export async function runStoryOnLevel(
  seed: number,
  options: { profile?: StoryProfile | undefined; isTold?: boolean; shards?: number } = {},
): Promise<StoryEnd> {
  const directory = await mkdtemp(join(tmpdir(), 'godwit-story-'))
  const keeper = new LevelKeeper(directory)
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
