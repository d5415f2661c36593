// Flags of V8 that a thread sets while it runs. From then on, V8 rejects compiled code that was made with other flags, that of Node's own
// modules included: a shard that starts afterwards compiles a hundred of them, which takes about 60 ms of processor time.

import { setFlagsFromString } from 'node:v8'

/**
 * Maximum bytecode that the optimizing compiler inlines into one function; V8's default is 920. The message path has
 * about thirty small functions. With the default, some of them are not inlined, so their objects (the message, its origin, its
 * receivers) must be allocated: 10 to 15 % of the CPU time of a QoS 0 message.
 */
const inlinedBytecodeBytes = 4_500

/**
 * Applies to the whole process. Must be called when the first message has arrived, before its code is hot, and not
 * earlier: with this flag, compilation takes twice as long. While ten thousand clients connect to a new broker on one
 * processor, that would be 7 % of their time.
 */
export function raiseInliningLimit(): void {
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${inlinedBytecodeBytes}`)
}

/** The longest delay that V8 accepts, in ms. It starts again with each collection of the whole heap. */
const maxReducerDelayMs = 2_147_483_647

/**
 * Delays the memory reducer of V8 in a process that has one: bin/godwit.js starts brokers without it, where it can. The reducer is delayed
 * instead of limited (`--memory-reducer-gc-count=0`): when limited, it counts as done after eight seconds. From then on V8 lets the heap
 * grow by a third at a time, and collects all of it about ten times as often.
 */
export function delayMemoryReducer(): void {
  if (!process.execArgv.includes('--no-memory-reducer'))
    setFlagsFromString(`--gc-memory-reducer-start-delay-ms=${maxReducerDelayMs}`)
}
