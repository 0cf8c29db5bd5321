/** Provides the colours of charts, updated when the theme changes. */
import { useMemo } from "react"
import { useColors } from "../ui/useColors.ts"
import type { PlotStyle } from "./PlotStyle.ts"

const series = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6", "series-7", "series-8"] as const

export const usePlotStyle = (): PlotStyle => {
  const colors = useColors(...series, "muted", "border", "surface", "danger", "negative")
  const text = JSON.stringify(colors)
  return useMemo(() => {
    const colors = JSON.parse(text) as { readonly [name: string]: string }
    return {
      series: series.map((name) => colors[name]!),
      text: colors["muted"]!,
      grid: colors["border"]!,
      surface: colors["surface"]!,
      broken: colors["danger"]!,
      suspect: colors["negative"]!
    }
  }, [text])
}
