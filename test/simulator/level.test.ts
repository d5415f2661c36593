// The same stories, with the real LevelDB store in the place of the simulated records.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runStoryOnLevel } from './level-story.ts'
import { profileNamed } from './profiles.ts'
import { runStory } from './run-story.ts'

describe('on the real LevelDB store', () => {
  for (const from of [10_001, 10_101, 10_201]) {
    test(`every promise is kept: seeds ${from} to ${from + 99}`, async () => {
      const faults: string[] = []
      for (let seed = from; seed < from + 100; seed++) {
        const { fault, profile } = await runStoryOnLevel(seed)
        if (fault !== undefined) faults.push(`${profile}: ${fault}`)
      }
      assert.deepEqual(faults, [])
    })
  }

  test('a story goes on as it does in memory, line by line', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const options = { isTold: true, profile: profileNamed('crash') }
      const onLevel = await runStoryOnLevel(seed, options)
      assert.deepEqual(onLevel.story, runStory(seed, options).story, `seed ${seed}`)
    }
  })
})
