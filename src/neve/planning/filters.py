"""The predicate language of `--where`.

    predicate := disjunction
    disjunction := conjunction (OR conjunction)*
    conjunction := negation (AND negation)*
    negation := NOT negation | "(" disjunction ")" | comparison
    comparison := column (= | <> | < | <= | > | >=) value
                | column [NOT] IN "(" value ("," value)* ")"
                | column [NOT] BETWEEN value AND value
                | column IS [NOT] NULL
    value := number | 'text' | TRUE | FALSE | DATE 'text' | TIMESTAMP 'text'
           | CURRENT_DATE [(+ | -) days]

sqlglot reads the text into tokens; the grammar is small and ours, so that everything outside it is
refused with the position of the token that does not belong.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import ClassVar

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer as StandardTokenizer

from neve.model.errors import FilterError
from neve.model.predicate import And, Comparison, In, IsNull, Literal, Not, Or, Predicate

MAX_TEXT_LENGTH = 64 * 1024
MAX_DEPTH = 50
MAX_IN_VALUES = 1000
MAX_EXPONENT = 400
OPERATORS = {
    TokenType.EQ: "=",
    TokenType.NEQ: "<>",
    TokenType.LT: "<",
    TokenType.LTE: "<=",
    TokenType.GT: ">",
    TokenType.GTE: ">=",
}


class FilterDialect(Dialect):
    """Standard SQL, with backticks beside double quotes around names."""

    class Tokenizer(StandardTokenizer):
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]


def parse_filter(text: str, *, today: date) -> Predicate:
    """Read a predicate; `current_date` means the given day."""
    if len(text) > MAX_TEXT_LENGTH:
        raise FilterError(f"A filter may have {MAX_TEXT_LENGTH} characters at most.")
    try:
        tokens = FilterDialect().tokenize(text)
    except TokenError:
        raise FilterError(f"The filter {text!r} cannot be read: a quote is not closed.") from None
    if not tokens:
        raise FilterError(
            "The filter is empty.", next_step="Write for example: day >= '2025-01-01'."
        )
    for token in tokens:
        if token.comments:
            raise _refuse(text, token.end + 1, "comments are not part of the filter language")
    parser = _Parser(text, tokens, today)
    predicate = parser.disjunction(0)
    parser.expect_end()
    return predicate


def _refuse(text: str, position: int, why: str) -> FilterError:
    shown = text if len(text) <= 200 else text[: max(0, position - 20)][-20:] + "…"
    return FilterError(
        f"The filter {shown!r} is refused at character {position + 1}: {why}.",
        position=position,
        next_step="Compare columns with values by = <> < <= > >= IN BETWEEN IS NULL, "
        "and join comparisons with AND, OR, NOT.",
    )


class _Parser:
    """Recursive descent over the tokens, at most MAX_DEPTH deep."""

    def __init__(self, text: str, tokens: list[Token], today: date) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self._today = today

    def disjunction(self, depth: int) -> Predicate:
        operands = [self._conjunction(depth)]
        while self._take(TokenType.OR):
            operands.append(self._conjunction(depth))
        return operands[0] if len(operands) == 1 else Or(tuple(operands))

    def expect_end(self) -> None:
        if self._peek() is not None:
            raise self._unexpected("expected AND, OR or the end")

    def _conjunction(self, depth: int) -> Predicate:
        operands = [self._negation(depth)]
        while self._take(TokenType.AND):
            operands.append(self._negation(depth))
        return operands[0] if len(operands) == 1 else And(tuple(operands))

    def _negation(self, depth: int) -> Predicate:
        if depth > MAX_DEPTH:
            raise self._unexpected(f"more than {MAX_DEPTH} levels of nesting")
        if self._take(TokenType.NOT):
            return Not(self._negation(depth + 1))
        if self._take(TokenType.L_PAREN):
            inner = self.disjunction(depth + 1)
            self._expect(TokenType.R_PAREN, "expected a closing parenthesis")
            return inner
        return self._comparison()

    def _comparison(self) -> Predicate:
        column, position = self._column()
        token = self._peek()
        if token is not None and token.token_type in OPERATORS:
            self._next += 1
            operator = OPERATORS[token.token_type]
            return Comparison(column, operator, self._value(), position)
        if self._take(TokenType.IS):
            negated = self._take(TokenType.NOT)
            self._expect(TokenType.NULL, "expected NULL")
            return IsNull(column, negated, position)
        negated = self._take(TokenType.NOT)
        if self._take(TokenType.IN):
            return In(column, self._values(), negated, position)
        if self._take(TokenType.BETWEEN):
            return self._between(column, negated, position)
        raise self._unexpected("expected a comparison")

    def _between(self, column: str, negated: bool, position: int) -> Predicate:
        low = self._value()
        self._expect(TokenType.AND, "expected AND")
        high = self._value()
        inside = And(
            (Comparison(column, ">=", low, position), Comparison(column, "<=", high, position))
        )
        return Not(inside) if negated else inside

    def _column(self) -> tuple[str, int]:
        token = self._peek()
        if token is None or not self._is_name(token):
            raise self._unexpected("expected a column name")
        position = token.start
        parts = [self._name()]
        while self._take(TokenType.DOT):
            parts.append(self._name())
        following = self._peek()
        if following is not None and following.token_type is TokenType.L_PAREN:
            raise _refuse(self._text, position, "functions are not part of the filter language")
        return ".".join(parts), position

    def _name(self) -> str:
        token = self._peek()
        if token is None or not self._is_name(token):
            raise self._unexpected("expected a column name")
        self._next += 1
        return token.text

    @staticmethod
    def _is_name(token: Token) -> bool:
        """Any word will do: a column may well be called `date` or `timestamp`."""
        if token.token_type in (TokenType.IDENTIFIER, TokenType.VAR):
            return True
        literals = (TokenType.STRING, TokenType.NUMBER, TokenType.NULL, TokenType.SELECT)
        return token.token_type not in literals and token.text.isidentifier()

    def _values(self) -> tuple[Literal, ...]:
        self._expect(TokenType.L_PAREN, "expected an opening parenthesis")
        values = [self._value()]
        while self._take(TokenType.COMMA):
            if len(values) == MAX_IN_VALUES:
                raise self._unexpected(f"IN takes {MAX_IN_VALUES} values at most")
            values.append(self._value())
        self._expect(TokenType.R_PAREN, "expected a closing parenthesis")
        return tuple(values)

    def _value(self) -> Literal:
        negative = self._take(TokenType.DASH)
        token = self._peek()
        if token is None:
            raise self._unexpected("expected a value")
        if token.token_type is TokenType.NUMBER:
            self._next += 1
            number = _number(token.text, negative=negative)
            if number is None:
                raise _refuse(self._text, token.start, f"{token.text[:40]!r} is no usable number")
            return number
        if negative:
            raise self._unexpected("expected a number")
        if token.token_type is TokenType.STRING:
            self._next += 1
            return token.text
        return self._word_value(token)

    def _word_value(self, token: Token) -> Literal:
        word = token.text.upper()
        if token.token_type is TokenType.IDENTIFIER:
            raise self._unexpected("expected a value; text stands in single quotes")
        if word in ("TRUE", "FALSE"):
            self._next += 1
            return word == "TRUE"
        if word in ("DATE", "TIMESTAMP"):
            self._next += 1
            return self._moment(word)
        if word == "CURRENT_DATE":
            self._next += 1
            return self._current_date()
        raise self._unexpected("expected a value")

    def _moment(self, word: str) -> Literal:
        token = self._peek()
        if token is None or token.token_type is not TokenType.STRING:
            raise self._unexpected(f"expected text in quotes after {word}")
        self._next += 1
        try:
            return (
                date.fromisoformat(token.text)
                if word == "DATE"
                else datetime.fromisoformat(token.text)
            )
        except ValueError:
            raise _refuse(
                self._text, token.start, f"{token.text!r} is not a {word.lower()}"
            ) from None

    def _current_date(self) -> date:
        if self._take(TokenType.L_PAREN):
            self._expect(TokenType.R_PAREN, "expected a closing parenthesis")
        sign = 1 if self._take(TokenType.PLUS) else -1 if self._take(TokenType.DASH) else 0
        if not sign:
            return self._today
        token = self._peek()
        if token is None or token.token_type is not TokenType.NUMBER or not token.text.isdigit():
            raise self._unexpected("expected a whole number of days")
        self._next += 1
        try:
            return self._today + sign * timedelta(days=int(token.text))
        except OverflowError:
            raise _refuse(self._text, token.start, "no such day exists") from None

    def _peek(self) -> Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self, token_type: TokenType) -> bool:
        token = self._peek()
        if token is None or token.token_type is not token_type:
            return False
        self._next += 1
        return True

    def _expect(self, token_type: TokenType, why: str) -> None:
        if not self._take(token_type):
            raise self._unexpected(why)

    def _unexpected(self, why: str) -> FilterError:
        token = self._peek()
        if token is None:
            return _refuse(self._text, len(self._text), f"{why}, but the filter ends here")
        return _refuse(self._text, token.start, f"{why}, not {token.text[:40]!r}")


def _number(text: str, *, negative: bool) -> int | Decimal | None:
    """The number, or None for one that no column could hold."""
    # The sign is read with the digits: negating a decimal would round it to 28 of them.
    text = f"-{text}" if negative else text
    try:
        value = int(text) if text.lstrip("-").isdigit() and len(text) <= 40 else Decimal(text)
    except InvalidOperation:
        return None
    if isinstance(value, Decimal) and abs(value.adjusted()) > MAX_EXPONENT:
        return None
    return value
