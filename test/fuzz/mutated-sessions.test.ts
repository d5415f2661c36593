import { shardNumbers } from '../test-length.ts'
import { testFuzzing } from './fuzz-test.ts'

for (const shards of shardNumbers(1, 3)) testFuzzing({ shards, seed: shards })
