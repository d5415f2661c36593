// What this shard holds in memory: its row of the table, and its topics, which are remembered for speed alone and may be as
// many as the memory of the node allows.

import { MemoryAccount, type BrokerView } from '../../core/index.ts'
import { TopicTable } from '../../protocol/index.ts'
import { memoryRow } from './memory-table.ts'
import type { ShardStart } from '../messages/messages.ts'

const mostTopics = 262_144
const leastTopics = 8_192
/** A topic with its name and who gets it takes some 500 bytes: an eighth of the memory at most is theirs. */
const bytesPerTopic = 4_096
/** Of a topic without its name; and the name is there as a text and as bytes. */
const topicBytes = 256
const copiesOfName = 2

export class ShardMemory {
  readonly account: MemoryAccount
  readonly topics: TopicTable

  constructor({ memoryTable, memoryPartBytes = Infinity, shardNumber }: ShardStart) {
    const row = memoryTable && memoryRow(memoryTable, shardNumber)
    // An earlier thread of the shard has left its figures.
    row?.fill(0)
    this.account = new MemoryAccount(row)
    const room = Math.floor(memoryPartBytes / bytesPerTopic)
    this.topics = new TopicTable(Math.max(leastTopics, Math.min(mostTopics, room)))
  }

  /** At the end of a turn: what is known as a whole. */
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
