// A plot over time. Its colors are those of the page, read when it is drawn.

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { formatAxisTime, formatNumber, formatTime, toZonedDate } from '../state/format.ts'
import { brokerOffsetMinutes, language, theme, timeZone } from '../state/preferences.ts'
import { useId } from './fields.tsx'

export interface Line {
  readonly title: string
  /** A custom property of the page: `--accent`. */
  readonly color: string
  readonly values: readonly (number | null)[]
}

interface PlotProps {
  readonly title: string
  /** Seconds since 1970, rising. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  /** Seconds that the plot covers, up to the last value; undefined: from the first value on. */
  readonly spanSeconds?: number
}

const height = 220
const msPerSecond = 1_000

export function Plot({ title, times, lines, spanSeconds }: PlotProps): JSX.Element {
  const id = useId()
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const data: uPlot.AlignedData = [[...times], ...lines.map(({ values }) => [...values])]
  const latest = useRef(data)
  latest.current = data
  /** Position in `times` of the value under the pointer. */
  const [pointed, setPointed] = useState<number>()
  const zone = timeZone.value === 'broker' ? `broker ${brokerOffsetMinutes.value}` : timeZone.value
  const names = lines.map((line) => line.title).join(' ')
  const look = `${theme.value} ${language.value} ${zone} ${spanSeconds ?? ''} ${names}`
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const draw = (): void => {
      plot.current = new uPlot(createPlotOptions(element, lines, spanSeconds), latest.current, element)
      watch.observe(element)
    }
    const watch = new ResizeObserver(() => {
      const width = element.clientWidth
      if (plot.current !== undefined && plot.current.width !== width) plot.current.setSize({ width, height })
    })
    // The first drawing takes the browser long: each plot has a task of its own, after the page is shown.
    const timer = setTimeout(draw)
    return () => {
      clearTimeout(timer)
      watch.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [look])
  // Values change with their times.
  useEffect(() => plot.current?.setData(data), [times])
  return (
    <figure class="plot">
      <figcaption>
        {title}
        {lines.map((line) => (
          <span key={line.title} class="legend">
            <span class="swatch" style={{ background: `var(${line.color})` }} /> {line.title}
          </span>
        ))}
      </figcaption>
      <div
        ref={place}
        role="img"
        aria-label={title}
        aria-describedby={id}
        onPointerMove={(event) => setPointed(findIndex(plot.current, event))}
        onPointerLeave={() => setPointed(undefined)}
      />
      <p class="plot-values">{pointed === undefined ? '\u00a0' : formatValues(pointed, times, lines)}</p>
      <p id={id} class="hidden">
        {formatLastValues(lines)}
      </p>
    </figure>
  )
}

/** Returns the position of the value that is nearest to the pointer. The canvas is the plot with its axes. */
function findIndex(plot: uPlot | undefined, event: PointerEvent): number | undefined {
  if (plot === undefined) return undefined
  const canvasLeft = plot.ctx.canvas.getBoundingClientRect().left
  return plot.posToIdx(event.clientX - canvasLeft - plot.bbox.left / devicePixelRatio)
}

function formatValues(index: number, times: readonly number[], lines: readonly Line[]): string {
  const seconds = times[index]
  if (seconds === undefined) return '\u00a0'
  const values = lines.map(({ title, values: all }) => {
    const value = all[index] ?? null
    return `${title} ${value === null ? '–' : formatNumber(value, 1)}`
  })
  return `${formatTime(seconds * msPerSecond)} · ${values.join(' · ')}`
}

/** Text alternative of the plot for screen readers. */
function formatLastValues(lines: readonly Line[]): string {
  return lines.map(({ title, values }) => `${title} ${formatNumber(values.at(-1) ?? 0, 1)}`).join(', ')
}

function createPlotOptions(
  element: HTMLElement,
  lines: readonly Line[],
  spanSeconds: number | undefined,
): uPlot.Options {
  const style = getComputedStyle(element)
  const readColor = (name: string): string => resolveColor(element, style.getPropertyValue(name))
  const axis = { stroke: readColor('--soft'), grid: { stroke: readColor('--line'), width: 1 }, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    tzDate: (seconds) => toZonedDate(seconds * msPerSecond),
    axes: [
      { ...axis, values: formatAxisTimes },
      { ...axis, size: 60, values: (_plot, splits) => splits.map((value) => formatNumber(value, 1)) },
    ],
    scales: {
      x: { range: createSpanRange(spanSeconds) },
      y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] },
    },
    series: [{}, ...lines.map(({ color }) => ({ stroke: readColor(color), width: 2, points: { show: false } }))],
  }
}

/** A short history takes a part of the width: it does not look like a long one. */
function createSpanRange(
  spanSeconds: number | undefined,
): (plot: uPlot, first: number | null, last: number | null) => uPlot.Range.MinMax {
  return (_plot, first, last) => {
    const end = last ?? Date.now() / msPerSecond
    return [spanSeconds === undefined ? (first ?? end) : end - spanSeconds, end]
  }
}

/** Texts of the times below the plot. The first of a day has the date. */
function formatAxisTimes(
  _plot: uPlot,
  splits: readonly number[],
  _axis: number,
  _space: number,
  incrementSeconds: number,
) {
  let lastDay: string | undefined
  return splits.map((seconds) => {
    const { day, time } = formatAxisTime(seconds * msPerSecond, incrementSeconds)
    const isSameDay = day === lastDay
    lastDay = day
    return isSameDay ? time : `${time}\n${day}`
  })
}

/** By theme: working them out makes the browser lay out the page again. */
const resolvedColors = new Map<string, string>()

/** A canvas does not support `light-dark()`, so the color is read from the computed style of an element. */
function resolveColor(element: HTMLElement, color: string): string {
  const key = `${theme.value} ${matchMedia('(prefers-color-scheme: dark)').matches} ${color}`
  const known = resolvedColors.get(key)
  if (known !== undefined) return known
  const probe = document.createElement('span')
  probe.style.color = color
  element.append(probe)
  const resolved = getComputedStyle(probe).color
  probe.remove()
  resolvedColors.set(key, resolved)
  return resolved
}
