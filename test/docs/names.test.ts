// Functions are verb and noun: `readText`, not `textOf`. Functions that return a boolean start with a verb too: `isEmpty`, `matchesFilter`.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { parseSync, Visitor, type BindingPattern, type ParamPattern } from 'oxc-parser'
import { languages, namesOfPlatform, nounFunctions, vagueParameters, verbs } from './function-words.ts'
import { checkout } from './markdown.ts'

const modules = globSync(['src/**/*.ts', 'lib/**/*.ts'], { cwd: checkout }).toSorted()
const sources = [...modules, ...globSync('dashboard/src/**/*.{ts,tsx}', { cwd: checkout })]

test('each function begins with a verb', () => {
  const functions = sources.flatMap((file) => listFunctionNames(file).map((name) => ({ file, name })))
  assert.ok(functions.length > 8_000, `only ${functions.length} functions`)
  const others = functions.filter(({ name }) => !beginsWithVerb(name))
  assert.deepEqual(
    others.filter(({ file, name }) => !isWordOfLanguage(file) && !(nounFunctions[file] ?? []).includes(name)),
    [],
    'begin the name with a verb; a verb that is missing is added to test/docs/function-words.ts',
  )
  const used = new Set(others.map(({ file, name }) => `${file} ${name}`))
  assert.deepEqual(
    Object.entries(nounFunctions).flatMap(([file, names]) => names.filter((name) => !used.has(`${file} ${name}`))),
    [],
    'renamed: delete it from the list',
  )
})

test('an entry point exports functions by their own names', () => {
  const found = modules.flatMap((file) =>
    findAliases(readFileSync(join(checkout, file), 'utf8')).map((alias) => ({ file, alias })),
  )
  assert.deepEqual(found, [])
  assert.deepEqual(findAliases("export { readText as textOf } from './a.ts'\nexport * as a from './a.ts'"), ['textOf'])
})

test('the base name of a file occurs once, except for the files of a subject in `api` and `config/settings`', () => {
  const files = new Map<string, string[]>()
  for (const file of modules.filter((file) => !/^src\/(?:api|config\/settings)\/|\/index\.ts$/.test(file))) {
    files.set(basename(file), [...(files.get(basename(file)) ?? []), file])
  }
  assert.deepEqual(
    [...files.values()].filter((found) => found.length > 1),
    [],
  )
})

test('no parameter is a pronoun or an adjective', () => {
  const found = sources.flatMap((file) =>
    listParameterNames(file)
      .filter((name) => vagueParameters.includes(name))
      .map((name) => ({ file, name })),
  )
  assert.deepEqual(found, [])
})

test('a name without a verb is found', () => {
  const text =
    'function textOf() {}\nconst shown = () => 1\nclass A { #written() {} get size() { return 1 } read() {} }'
  assert.deepEqual(
    listFunctionNames('a.ts', text).filter((name) => !beginsWithVerb(name)),
    ['textOf', 'shown', 'written'],
  )
  assert.deepEqual(listParameterNames('a.ts', 'const f = (how: string, { a: who }: A, { what }: B) => 1'), [
    'how',
    'who',
  ])
})

const verbSet: ReadonlySet<string> = new Set(verbs)

function beginsWithVerb(name: string): boolean {
  const word = /^[a-z]+/.exec(name)?.[0]
  // Names in capitals are components of the dashboard.
  return word === undefined || verbSet.has(word) || namesOfPlatform.includes(name)
}

function isWordOfLanguage(file: string): boolean {
  return /endpoints\.ts$|-schemas\.ts$/.test(file) || languages.some((folder) => file.startsWith(folder))
}

/** Returns the names by which exports are renamed; not those of libraries, whose entry point has a default export. */
function findAliases(text: string): string[] {
  const exported = [...text.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, names = '']) => names.split(','))
  return exported.flatMap((name) => /^\s*(?!default\b)\w+ as (\w+)\s*$/.exec(name)?.[1] ?? [])
}

/** Returns the names of functions, of methods, and of constants that are functions; not of accessors. */
function listFunctionNames(file: string, text = readFileSync(join(checkout, file), 'utf8')): string[] {
  const names: { readonly name: string; readonly start: number }[] = []
  new Visitor({
    FunctionDeclaration: ({ id }) => {
      if (id !== null) names.push(id)
    },
    VariableDeclarator: ({ id, init }) => {
      const isFunction = init?.type === 'ArrowFunctionExpression' || init?.type === 'FunctionExpression'
      if (id.type === 'Identifier' && isFunction) names.push(id)
    },
    MethodDefinition: ({ key, kind }) => {
      const isNamed = key.type === 'Identifier' || key.type === 'PrivateIdentifier'
      if (kind === 'method' && isNamed) names.push(key)
    },
  }).visit(parseSync(file, text).program)
  return names.toSorted((a, b) => a.start - b.start).map(({ name }) => name)
}

function listParameterNames(file: string, text = readFileSync(join(checkout, file), 'utf8')): string[] {
  const names: string[] = []
  const add = (pattern: ParamPattern | BindingPattern): void => {
    if (pattern.type === 'Identifier') names.push(pattern.name)
    if (pattern.type === 'AssignmentPattern') add(pattern.left)
    if (pattern.type !== 'ObjectPattern') return
    for (const property of pattern.properties) {
      // The name of a shorthand property is that of the object's field.
      if (property.type === 'Property' && !property.shorthand) add(property.value)
    }
  }
  const addAll = ({ params }: { readonly params: readonly ParamPattern[] }): void => params.forEach(add)
  new Visitor({
    FunctionDeclaration: addAll,
    FunctionExpression: addAll,
    ArrowFunctionExpression: addAll,
  }).visit(parseSync(file, text).program)
  return names
}
