// Stories from seeds: see bridge-story.ts and ring-story.ts. One that fails is told again by its seed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellBridgeStory } from './bridge-story.ts'
import { tellRingStory } from './ring-story.ts'

const stories = 120

test(`in ${stories} stories, whatever dies or falls silent, nothing is lost and QoS 2 comes over once`, () => {
  let carried = 0
  let reconnects = 0
  for (let seed = 1; seed <= stories; seed++) {
    const end = tellBridgeStory(seed)
    assert.equal(end.fault, undefined)
    carried += end.carried
    reconnects += end.reconnects
  }
  assert.ok(carried > stories * 50 && reconnects > stories, `${carried} messages, ${reconnects} connections`)
})

const ringStories = 60

test(`in ${ringStories} stories of brokers in a ring everything is heard everywhere, and nothing goes round for ever`, () => {
  let carried = 0
  let loops = 0
  for (let seed = 1; seed <= ringStories; seed++) {
    const end = tellRingStory(seed)
    assert.equal(end.fault, undefined)
    carried += end.carried
    loops += end.loops
  }
  assert.ok(carried > ringStories * 50 && loops > ringStories, `${carried} messages, ${loops} cut`)
})
