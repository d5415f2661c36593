// Words that the glossary replaces do not come back: in documents, in comments, in texts for users, in log events, in names.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { parseSync, Visitor } from 'oxc-parser'
import { findLogEvents } from './log-events.ts'
import { checkout, markdownFiles, proseLines, readPage, type Finding } from './markdown.ts'
import {
  documentsToRewrite,
  fixedTexts,
  modulesToRewrite,
  publishedNames,
  replacedInNames,
  replacedInProse,
} from './replaced-terms.ts'

const sources = globSync(['src/**/*.ts', 'lib/**/*.ts'], { cwd: checkout })
const pages = globSync(['dashboard/src/**/*.{ts,tsx}', 'examples/**/*.js'], { cwd: checkout })
/** The tests of this folder name the replaced words. */
const tests = globSync('{test,bench}/**/*.ts', { cwd: checkout, exclude: ['test/docs/**'] })

test('no document uses a word that the glossary replaces', () => {
  const findings = markdownFiles().flatMap((file) => findInPage(file, readPage(file)))
  assert.deepEqual(
    findings.filter(({ file }) => !documentsToRewrite.includes(file)),
    [],
  )
  const open = new Set(findings.map(({ file }) => file))
  assert.deepEqual(
    documentsToRewrite.filter((file) => !open.has(file)),
    [],
    'rewritten: delete it from the list',
  )
})

test('no comment in src/ uses a word that the glossary replaces', () => {
  const findings = sources.flatMap((file) => findInComments(file, readFileSync(join(checkout, file), 'utf8')))
  assert.deepEqual(
    findings.filter(({ file }) => !modulesToRewrite.includes(moduleOf(file))),
    [],
  )
  const open = new Set(findings.map(({ file }) => moduleOf(file)))
  assert.deepEqual(
    modulesToRewrite.filter((name) => !open.has(name)),
    [],
    'rewritten: delete it from the list',
  )
})

test('no text in src/ for users uses a word that the glossary replaces', () => {
  assert.deepEqual(
    sources.flatMap((file) => findInStrings(file, readFileSync(join(checkout, file), 'utf8'))),
    [],
  )
})

test('no log event uses a word that the glossary replaces', () => {
  const events = [...findLogEvents(join(checkout, 'src'))]
  assert.deepEqual(
    events.flatMap((event) => findInLine('src', 1, event)),
    [],
  )
})

test('no file name and no identifier has a word that the glossary replaces', () => {
  const names = [...sources, ...tests].flatMap((file) => [
    { file, name: basename(file, '.ts') },
    ...identifiersIn(file, readFileSync(join(checkout, file), 'utf8')).map((name) => ({ file, name })),
  ])
  assert.ok(names.length > 20_000, `only ${names.length} names`)
  assert.deepEqual(
    names.filter(({ name }) => replacedPartOf(name) !== undefined),
    [],
  )
})

test('no title, message or comment of a test or a benchmark uses a word that the glossary replaces', () => {
  assert.deepEqual(
    tests.flatMap((file) => {
      const text = readFileSync(join(checkout, file), 'utf8')
      return [...findInComments(file, text), ...findInStrings(file, text)]
    }),
    [],
  )
})

test('no comment and no text of the dashboard and the examples uses a word that the glossary replaces', () => {
  assert.ok(pages.length > 100, `only ${pages.length} files`)
  assert.deepEqual(
    pages.flatMap((file) => {
      const text = readFileSync(join(checkout, file), 'utf8')
      return [...findInComments(file, text), ...findInStrings(file, text)]
    }),
    [],
  )
})

test('no comment of the dashboard begins with What, Who or Which: its subject is a noun', () => {
  const findings = pages.flatMap((file) => {
    const text = readFileSync(join(checkout, file), 'utf8')
    return parseSync(file, text).comments.flatMap(({ start, value }) =>
      /^\*?\s*(?:What|Who|Which|Whom)\b/.test(value)
        ? [{ file, line: text.slice(0, start).split('\n').length, text: value }]
        : [],
    )
  })
  assert.deepEqual(findings, [])
})

test('a replaced word is found in prose, and not in code', () => {
  assert.deepEqual(wordsFound('Nobody knows.\nIt waits for a Vow.'), ['1 Nobody', '2 Vow'])
  assert.deepEqual(wordsFound('`nobody`\n```\nroom\n```\nroom/1, a mushroom'), [])
  assert.deepEqual(
    findInComments('a.ts', "const nobody = 'nobody'\n/** Whoever\n * waits. */").map(({ line }) => line),
    [2],
  )
})

test('a replaced word is found in texts, and not in values', () => {
  const text = "say('nobody', `${n} for\\n  everybody`)\nsay('`nobody` is a value')\nsay('nobody knows')"
  assert.deepEqual(
    findInStrings('a.ts', text).map(({ line, text: word }) => `${line} ${word}`),
    ['1 everybody', '3 nobody'],
  )
})

test('a replaced word is found as a part of a name', () => {
  assert.equal(replacedPartOf('storeKeeper'), 'keeper')
  assert.equal(replacedPartOf('store-keeper'), 'keeper')
  assert.equal(replacedPartOf('floorplan'), undefined)
  assert.equal(replacedPartOf('floor'), undefined)
  assert.deepEqual(identifiersIn('a.ts', 'const a = 1\nclass B { #c = a.d }'), ['a', 'B', 'c', 'd'])
})

const wordsInProse = new RegExp(String.raw`(?<![\w/$-])(?:${Object.keys(replacedInProse).join('|')})(?![\w/-])`, 'gi')

function findInLine(file: string, line: number, text: string): Finding[] {
  const prose = text.replaceAll(/`[^`]*`/g, '').replaceAll(/\]\([^)]*\)/g, '')
  return [...prose.matchAll(wordsInProse)].map(([word]) => ({ file, line, text: word }))
}

function findInPage(file: string, text: string): Finding[] {
  return proseLines(text).flatMap((line, index) => findInLine(file, index + 1, line))
}

function wordsFound(text: string): string[] {
  return findInPage('a.md', text).map(({ line, text: word }) => `${line} ${word}`)
}

function findInComments(file: string, text: string): Finding[] {
  return parseSync(file, text).comments.flatMap(({ start, value }) => {
    const line = text.slice(0, start).split('\n').length
    return value.split('\n').flatMap((part, index) => findInLine(file, line + index, part))
  })
}

/** Strings with a space: messages of the API, alarms, log lines, help. Others are values and keys. */
function findInStrings(file: string, text: string): Finding[] {
  const { program } = parseSync(file, text)
  const findings: Finding[] = []
  const add = (start: number, value: string): void => {
    if (!value.includes(' ') || fixedTexts.has(value)) return
    findings.push(...findInLine(file, text.slice(0, start).split('\n').length, value))
  }
  new Visitor({
    Literal: ({ start, value }) => {
      if (typeof value === 'string') add(start, value)
    },
    TemplateElement: ({ start, value }) => {
      add(start, value.cooked ?? '')
    },
  }).visit(program)
  return findings
}

/** Returns the names in the code of `file`, each once. */
function identifiersIn(file: string, text: string): string[] {
  const names = new Set<string>()
  const add = ({ name }: { readonly name: string }): void => {
    names.add(name)
  }
  new Visitor({ Identifier: add, PrivateIdentifier: add }).visit(parseSync(file, text).program)
  return [...names]
}

function replacedPartOf(name: string): string | undefined {
  if (publishedNames.has(name)) return undefined
  const parts = name.split(/[-_.]|(?=[A-Z])/).map((part) => part.toLowerCase())
  return parts.find((part) => Object.hasOwn(replacedInNames, part))
}

function moduleOf(file: string): string {
  return file.split('/')[1]
}
