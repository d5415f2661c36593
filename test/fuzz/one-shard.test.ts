import { testFuzzing } from './fuzz-test.ts'

testFuzzing({ shards: 1, seed: 1 })
