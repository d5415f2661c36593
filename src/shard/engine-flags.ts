// What a shard asks of V8 before it serves: settings of the engine for code that does the same little work a million times a second.

import { setFlagsFromString } from 'node:v8'

/**
 * How many bytes of bytecode the optimising compiler may take into one function from those that it calls; 920 unless
 * told. The way of a message goes through some thirty small functions. With the default the later ones of them are left
 * as calls, and what they make (the message, its source, who it goes to) has to be made as objects: 10 to 15 % of the
 * processor time of a message at QoS 0.
 */
const inlinedBytecodeBytes = 4_500

/** For the whole process, and before the code that it concerns is hot. */
export function inlineFarther(): void {
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${inlinedBytecodeBytes}`)
}
