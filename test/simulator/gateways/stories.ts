import { runCoapStory } from './coap-story.ts'
import { runLwm2mStory } from './lwm2m-story.ts'
import { runSnStory } from './sn-story.ts'

/** By protocol. */
export const gatewayStories = { mqttsn: runSnStory, coap: runCoapStory, lwm2m: runLwm2mStory } as const
