// The report of a conversion: names of the entries that were left out or became stricter, by section and reason.

const maxNames = 50
const maxNameCharacters = 100

interface Named {
  readonly names: string[]
  count: number
}

class NamedEntries {
  readonly #entries = new Map<string, Named>()

  add(section: string, name: string, reason: string): void {
    const key = JSON.stringify([section, reason])
    const named = this.#entries.get(key) ?? { names: [], count: 0 }
    this.#entries.set(key, named)
    named.count += 1
    if (name !== '' && named.names.length < maxNames) named.names.push(name.slice(0, maxNameCharacters))
  }

  formatSentences(): string[] {
    return [...this.#entries].map(([key, { names, count }]) => {
      const [section, reason] = JSON.parse(key) as [string, string]
      const more = count > names.length && names.length > 0 ? ` and ${count - names.length} more` : ''
      const named = names.length === 0 ? '' : ` (${names.map((name) => JSON.stringify(name)).join(', ')}${more})`
      return `${section}: ${count} ${count === 1 ? 'entry' : 'entries'}${named}: ${reason}`
    })
  }
}

export class Emqx4Report {
  readonly #skipped = new NamedEntries()
  readonly #stricter = new NamedEntries()

  /** An entry is not converted. */
  skip(section: string, name: string, reason: string): void {
    this.#skipped.add(section, name, reason)
  }

  /** An entry was converted to something that allows less. */
  restrict(section: string, name: string, reason: string): void {
    this.#stricter.add(section, name, reason)
  }

  formatSkipped(): string[] {
    return this.#skipped.formatSentences()
  }

  formatStricter(): string[] {
    return this.#stricter.formatSentences()
  }
}
