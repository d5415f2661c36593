import { testFuzzing } from './fuzz-test.ts'

testFuzzing({ shards: 3, seed: 2 })
