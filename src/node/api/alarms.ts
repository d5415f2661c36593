import type { AlarmOperations } from '../../management/index.ts'
import type { Alarms } from '../observe/alarms.ts'

export function alarmOperations(nodeName: string, alarms: Alarms): AlarmOperations {
  return {
    nodeName,
    active: () => alarms.active(),
    history: () => alarms.history(),
    deactivate: (name) => alarms.deactivate(name),
    forgetHistory: () => alarms.forgetHistory(),
  }
}
