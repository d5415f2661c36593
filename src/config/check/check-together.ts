// What no setting can say alone: whether several of them fit together.

import { faultAt, type Fault } from '../faults.ts'
import type { ListenerConfig } from '../godwit-config.ts'
import type { Position } from '../hocon/values.ts'

const nowhere: Position = { file: 'defaults', line: 0, column: 0 }

/** Faults between the listeners of one configuration. `places`: where each written setting stands. */
export function checkListeners(
  listeners: readonly ListenerConfig[],
  places: ReadonlyMap<string, Position>,
): readonly Fault[] {
  const faults: Fault[] = []
  const names = new Set<string>()
  for (const [index, listener] of listeners.entries()) {
    const key = bindKey(listener, places)
    const at = places.get(key) ?? nowhere
    if (names.has(listener.name)) {
      const message = 'the listener default is described twice: beside listeners.tcp and under its name'
      faults.push(faultAt(at, key, message, 'keep one of the two'))
    }
    names.add(listener.name)
    const twin = listeners.slice(0, index).find((other) => areSamePlace(listener, other))
    if (twin !== undefined && twin.name !== listener.name) {
      const hint = 'give one of them another port'
      faults.push(faultAt(at, key, `the listener ${twin.name} has the same address and port`, hint))
    }
  }
  return faults
}

function bindKey(listener: ListenerConfig, places: ReadonlyMap<string, Position>): string {
  const named = `listeners.${listener.kind}.${listener.name}.bind`
  return places.has(named) || listener.name !== 'default' ? named : `listeners.${listener.kind}.bind`
}

/** Port 0 is a free port each time it is asked for, so it is never the same place. */
function areSamePlace(a: ListenerConfig, b: ListenerConfig): boolean {
  return a.port !== 0 && a.port === b.port && a.host === b.host
}
