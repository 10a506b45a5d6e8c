"""What a QUERY may consist of. Everything that is not named here is refused."""

from __future__ import annotations

from sqlglot import exp

#: Parts of a statement, and operators.
NODES: tuple[type[exp.Expr], ...] = (
    exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Subquery, exp.CTE, exp.With,
    exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Qualify, exp.Order, exp.Ordered,
    exp.Limit, exp.Offset, exp.Distinct, exp.Table, exp.TableAlias, exp.Alias, exp.Column,
    exp.Identifier, exp.Star, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Tuple,
    exp.Values, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape,
    exp.Exists, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe,
    exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var,
    exp.AtTimeZone, exp.Bracket, exp.Dot, exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup,
)  # fmt: skip

#: Functions that sqlglot knows.
FUNCTIONS: frozenset[type[exp.Expr]] = frozenset({
    exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Stddev, exp.StddevPop,
    exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Median, exp.Quantile, exp.PercentileCont,
    exp.PercentileDisc, exp.ApproxDistinct, exp.AnyValue, exp.First, exp.Last, exp.Corr,
    exp.ArgMax, exp.ArgMin, exp.LogicalAnd, exp.LogicalOr,
    exp.Abs, exp.Ceil, exp.Floor, exp.Round, exp.Sqrt, exp.Exp, exp.Ln, exp.Log, exp.Pow, exp.Sign,
    exp.Greatest, exp.Least, exp.Coalesce, exp.Nullif,
    exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.Substring, exp.Left, exp.Right, exp.Concat,
    exp.StrPosition, exp.StartsWith, exp.Contains, exp.Initcap,
    exp.CurrentDate, exp.CurrentTimestamp, exp.Extract, exp.Year, exp.Month, exp.Day, exp.Quarter,
    exp.Week, exp.Hour, exp.Minute, exp.Second, exp.DayOfWeek, exp.DayOfYear, exp.DateTrunc,
    exp.TimestampTrunc, exp.DateDiff, exp.DateAdd, exp.DateSub, exp.Date,
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag,
    exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue,
})  # fmt: skip

#: Functions that sqlglot leaves as they are written, by name.
NAMED_FUNCTIONS = frozenset({"epoch", "hour", "minute", "second", "even", "trunc"})
