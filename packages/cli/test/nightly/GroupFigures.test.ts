/** The figures of groups in docs/environments.md, of all environments that need no package of Python. */
import { describe } from "@effect/vitest"
import * as GroupFigures from "../../../../scripts/internal/GroupFigures.ts"
import * as FigureOnPage from "../long/FigureOnPage.ts"

describe("the figure of a group in docs/environments.md", () => {
  FigureOnPage.of((name) => GroupFigures.pythonOf(name) === undefined)
})
