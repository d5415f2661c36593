// Positions of a plugin in the order of the hooks.

export type PluginPosition =
  | { readonly at: 'front' | 'rear' }
  | { readonly at: 'before' | 'after'; readonly name: string }

/** Returns undefined if the text is not `front`, `rear`, `before:NAME` or `after:NAME`. */
export function parsePosition(text: string): PluginPosition | undefined {
  if (text === 'front' || text === 'rear') return { at: text }
  const [, at, name] = /^(before|after):(.+)$/.exec(text) ?? []
  return name === undefined ? undefined : { at: at === 'before' ? 'before' : 'after', name }
}

/** Returns the names with `name` at its new position. `name`, and the name of the position, must be among the names and differ. */
export function moveName(names: readonly string[], name: string, position: PluginPosition): readonly string[] {
  const others = names.filter((one) => one !== name)
  switch (position.at) {
    case 'front':
      return [name, ...others]
    case 'rear':
      return [...others, name]
    case 'before':
      return others.toSpliced(others.indexOf(position.name), 0, name)
    case 'after':
      return others.toSpliced(others.indexOf(position.name) + 1, 0, name)
    default:
      throw position satisfies never
  }
}

/** Returns the names in the order of the hooks: those of `first`, as there, and then the others. */
export function orderNames(names: readonly string[], first: readonly string[]): readonly string[] {
  const known = new Set(names)
  return [...new Set([...first.filter((name) => known.has(name)), ...names])]
}
