import type { AlarmOperations } from './alarms.ts'
import type { Alarms } from '../../node/index.ts'

export function alarmOperations(nodeName: string, alarms: Alarms): AlarmOperations {
  return {
    nodeName,
    active: () => alarms.active(),
    history: () => alarms.history(),
    deactivate: (name) => alarms.deactivate(name),
    forgetHistory: () => alarms.forgetHistory(),
  }
}
