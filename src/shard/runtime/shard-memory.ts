// Counts the memory of this shard in its row of the shared table, and creates its topic table, whose size depends on the memory of the node.

import { MemoryAccount, type BrokerView, type MemoryLevel } from '../../core/index.ts'
import { TopicTable } from '../../protocol/index.ts'
import { getMemoryRow } from './memory-table.ts'
import type { ShardStart } from '../messages/messages.ts'

const maxTopics = 262_144
const minTopics = 8_192
/** One topic is cached for this much memory. A topic with its name and match plan uses about 500 bytes, so topics use at most an eighth of the memory. */
const bytesPerTopic = 4_096
/** Memory of a topic without its name. The name is stored twice: as text and as bytes. */
const topicBytes = 256
const copiesOfName = 2

export class ShardMemory {
  readonly account: MemoryAccount
  readonly topics: TopicTable

  constructor({ memoryTable, memoryPartBytes = Infinity, shardNumber }: ShardStart) {
    const row = memoryTable && getMemoryRow(memoryTable, shardNumber)
    // Removes the values from before the restart of the shard.
    row?.fill(0)
    this.account = new MemoryAccount(row)
    const affordable = Math.floor(memoryPartBytes / bytesPerTopic)
    this.topics = new TopicTable(Math.max(minTopics, Math.min(maxTopics, affordable)))
  }

  get level(): MemoryLevel {
    return this.account.level
  }

  /** Called at the end of a turn, for uses that are counted as a whole. */
  publish(
    view: Pick<BrokerView, 'unconfirmedBytes'>,
    sums: { readonly buffers: number; readonly packets: number },
  ): void {
    const { topics, nameBytes } = this.topics.size
    const { account } = this
    account.set('topics', topics * topicBytes + nameBytes * copiesOfName)
    account.set('buffers', sums.buffers)
    account.set('packets', sums.packets)
    account.set('peers', view.unconfirmedBytes)
  }
}
