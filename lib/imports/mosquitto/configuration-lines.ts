// The lines of mosquitto.conf and of the files that it includes, as `conf.c` and `conf_includedir.c` read them:
//
//   - A line is a word, spaces and a value. `#` in the first column is a comment.
//   - `include_dir` reads the files of a folder whose names end in `.conf`, in order of their names. Only the main file includes others.
//   - In each file, options before its first listener belong to the listener of `port`.

export interface ConfigurationFile {
  /** As in messages. */
  readonly name: string
  readonly text: string
}

export interface ConfigurationLine {
  readonly word: string
  readonly value: string
  /** `mosquitto.conf, line 3` */
  readonly place: string
}

const suffix = '.conf'

/** Returns the lines of a file that have a word. */
export function parseLines({ name, text }: ConfigurationFile): ConfigurationLine[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const [, word = '', value = ''] = /^\s*(\S+)\s*(.*?)\s*$/.exec(line) ?? []
    return word === '' || word.startsWith('#') ? [] : [{ word, value, place: `${name}, line ${index + 1}` }]
  })
}

/** Returns the folders that the main file includes. */
export function listIncludedFolders(file: ConfigurationFile): string[] {
  return parseLines(file).flatMap(({ word, value }) => (word === 'include_dir' && value !== '' ? [value] : []))
}

/** Returns the names of the files that mosquitto reads of a folder, in its order. */
export function selectIncludedNames(names: readonly string[]): string[] {
  return names.filter((name) => name.length > suffix.length && name.endsWith(suffix)).toSorted(compareNames)
}

/** Letters are compared without case; the first different case decides. */
function compareNames(one: string, other: string): number {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const [left, right] = [a[index] ?? 0, b[index] ?? 0]
    if (left !== right) return toUpper(left) - toUpper(right) || left - right
  }
  return a.length - b.length
}

const toUpper = (code: number): number => (code >= 97 && code <= 122 ? code - 32 : code)
