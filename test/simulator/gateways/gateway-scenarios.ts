import { runCoapScenario } from './coap-scenario.ts'
import { runLwm2mScenario } from './lwm2m-scenario.ts'
import { runSnScenario } from './sn-scenario.ts'

/** By protocol. */
export const gatewayScenarios = { mqttsn: runSnScenario, coap: runCoapScenario, lwm2m: runLwm2mScenario } as const
