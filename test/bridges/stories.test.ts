// Stories from seeds: see bridge-story.ts and ring-story.ts. One that fails is told again by its seed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellBridgeStory } from './bridge-story.ts'
import { tellRingStory } from './ring-story.ts'
import { tellAll } from './told-story.ts'

const stories = 120

test(`in ${stories} scenarios, whatever fails or stops responding, no message is lost and QoS 2 arrives once`, () => {
  const { carried, reconnects } = tellAll(stories, tellBridgeStory)
  assert.ok(carried > stories * 50 && reconnects > stories, `${carried} messages, ${reconnects} connections`)
})

const ringStories = 60

test(`in ${ringStories} scenarios of brokers in a ring each message arrives everywhere, and none loops for ever`, () => {
  const { carried, loops } = tellAll(ringStories, tellRingStory)
  assert.ok(carried > ringStories * 50 && loops > ringStories, `${carried} messages, ${loops} cut`)
})
