// What a shard asks of V8 before it serves: settings of the engine for code that does the same little work a million times a second.

import { setFlagsFromString } from 'node:v8'

/**
 * How many bytes of bytecode the optimising compiler may take into one function from those that it calls; 920 unless
 * told. The way of a message goes through some thirty small functions. With the default the later ones of them are left
 * as calls, and what they make (the message, its source, who it goes to) has to be made as objects: 10 to 15 % of the
 * processor time of a message at QoS 0.
 */
const inlinedBytecodeBytes = 4_500

/**
 * For the whole process: to be called when the first message has come, before the code that it concerns is hot, and not
 * before. What is compiled with it takes the compiler twice as long, and while ten thousand clients come to a broker that has
 * just started, where one processor has to do all of it, that is 7 % of the time that they take.
 */
export function inlineFarther(): void {
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${inlinedBytecodeBytes}`)
}
