// Flags of V8 that a shard sets before it serves, for code that runs a million times per second.

import { setFlagsFromString } from 'node:v8'

/**
 * Maximum bytecode that the optimizing compiler inlines into one function; V8's default is 920. The message path has
 * about thirty small functions. With the default, some of them are not inlined, so their objects (the message, its origin, its
 * recipients) must be allocated: 10 to 15 % of the CPU time of a QoS 0 message.
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
