/**
 * The figures of groups in docs/environments.md, of environments that need a package of Python: made where
 * `ATROPOS_TEST_PYTHON` names an interpreter that has it.
 */
import { describe } from "@effect/vitest"
import * as GroupFigures from "../../../../scripts/internal/GroupFigures.ts"
import * as FigureOnPage from "../long/FigureOnPage.ts"

describe("the figure of a group in docs/environments.md, with Python", () => {
  FigureOnPage.of((name) => GroupFigures.pythonOf(name) !== undefined)
})
