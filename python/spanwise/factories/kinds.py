"""The three kinds of factory, one for each kind of component.

See docs/reference/api-runs.md#factories.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from spanwise.components import Component, Kind, as_component
from spanwise.components.adapted import Adapted
from spanwise.components.callables import in_thread, is_async
from spanwise.errors import ConfigurationError, FactoryError, UnavailableError
from spanwise.factories.schema import Schema, check_schema, json_schema, validated

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.factories.context import RequestContext

DEADLINE_SECONDS = 30.0

_log = logging.getLogger(__name__)


class Factory:
    """Builds a new component for every request. Use one of its three subclasses.

    Attributes:
        kind: the kind of component that it builds.
        id: its id in URL paths.
        db: the database for products without one.
        factory: the callable.
        name: its name, for people.
        description: its purpose, for people.
        input_schema: the schema of `factory_input`; None accepts any object.
    """

    kind: ClassVar[Kind]

    def __init__(  # noqa: PLR0913, PLR0917  # the constructor that agno's factories have
        self,
        id: str,  # noqa: A002  # the word that every component uses
        db: Any,  # noqa: ANN401  # any database object
        factory: Callable[[RequestContext], Any],
        name: str | None = None,
        description: str | None = None,
        input_schema: Schema = None,
    ) -> None:
        """Creates a factory without calling `factory`.

        Args:
            id: its id in URL paths; every product gets it.
            db: the database for products without one; sync or async.
            factory: takes a RequestContext and returns a new component; sync or async.
            name: its name, for people.
            description: its purpose, for people.
            input_schema: the type of `factory_input`: a msgspec Struct, a dataclass, a TypedDict or a pydantic model.

        Raises:
            ValueError: the id is empty, or the db is missing.
            ConfigurationError: the schema cannot be used, or `factory` is not callable with one argument.
        """
        if not id:
            raise ValueError(f"{type(self).__name__}: expected an id, got an empty text")
        if db is None:
            raise ValueError(f"{type(self).__name__} `{id}`: expected a db, got None")
        if not callable(factory):
            raise ConfigurationError(f"{type(self).__name__} `{id}`: expected a callable, got `{factory!r}`")
        _expect_one_argument(f"{type(self).__name__} `{id}`", factory)
        if input_schema is not None:
            check_schema(input_schema)
        self.id = id
        self.db = db
        self.factory = factory
        self.name = name
        self.description = description
        self.input_schema = input_schema
        self._products: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def describe(self) -> dict[str, Any]:
        """Returns the JSON schema of the input for listings, if there is one. Does not call the factory."""
        if self.input_schema is None:
            return {}
        schema = json_schema(self.input_schema)
        return {"input_schema": schema, "factory_input_schema": schema}

    def checked(self, context: RequestContext) -> RequestContext:
        """Returns the context with its input converted to the schema. A missing input counts as an empty object.

        Raises:
            FactoryValidationError: the input does not match the schema.
        """
        if self.input_schema is None:
            return context
        given = {} if context.input is None else context.input
        return replace(context, input=validated(self.input_schema, given))

    def resolve(self, context: RequestContext, *, read_input: bool = True) -> Component:
        """Returns a new component. The callable runs in the calling thread, without a deadline.

        Args:
            context: the request.
            read_input: whether to check the context's input; if not, the callable gets None.

        Raises:
            FactoryValidationError: the input does not match the schema.
            FactoryError: the callable is async, raised, or did not return a new component of its kind.
        """
        context = self.checked(context) if read_input else replace(context, input=None)
        if is_async(self.factory):
            raise FactoryError(f"{self.kind} factory `{self.id}` is async: use resolve_async")
        try:
            product = self.factory(context)
        except BaseException as error:  # no error of a factory may end the service
            raise self._failure(error) from error
        return self._finish(product)

    async def resolve_async(
        self, context: RequestContext, *, read_input: bool = True, deadline_seconds: float = DEADLINE_SECONDS
    ) -> Component:
        """Returns a new component. A sync callable runs in its own thread.

        Args:
            context: the request.
            read_input: whether to check the context's input; if not, the callable gets None.
            deadline_seconds: the time limit of the callable.

        Raises:
            FactoryValidationError: the input does not match the schema; the callable was not called.
            FactoryPermissionError: the callable rejected the caller.
            UnavailableError: too many sync callables are running.
            FactoryError: the callable raised, took too long, or did not return a new component of its kind.
        """
        context = self.checked(context) if read_input else replace(context, input=None)
        try:
            async with asyncio.timeout(deadline_seconds) as deadline:
                product = await self._call(context)
        except TimeoutError as error:
            if not deadline.expired():
                raise self._failure(error) from error
            raise FactoryError(f"{self.kind} factory `{self.id}` took longer than {deadline_seconds:g} s") from error
        return self._finish(product)

    async def _call(self, context: RequestContext) -> object:
        try:
            if is_async(self.factory):
                return await self.factory(context)
            return await in_thread(lambda: self.factory(context))
        except (TimeoutError, UnavailableError):
            raise
        except BaseException as error:  # an async factory runs on the loop, and `SystemExit` would end it
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            raise self._failure(error) from error

    def _failure(self, error: BaseException) -> FactoryError:
        if isinstance(error, FactoryError):
            return error
        return FactoryError(f"{self.kind} factory `{self.id}` raised {type(error).__name__}: {error}")

    def _finish(self, product: object) -> Component:
        """Returns the product as an initialized component, with the factory's id and db, and event storage enabled.

        Raises:
            FactoryError: the product is not a new component of this kind.
        """
        if inspect.iscoroutine(product):
            product.close()
        try:
            component = as_component(product, self.kind)
            self._expect_fresh(product)
            if isinstance(component, Adapted):
                component.is_shared = False
            if component.id != self.id:
                if component.id:
                    _log.warning("%s factory `%s` built `%s`: its id is replaced", self.kind, self.id, component.id)
                component.id = self.id
            if component.db is None:
                component.db = self.db
            component.store_events = True
            component.initialize()
        except FactoryError:
            raise
        except ConfigurationError as error:
            raise FactoryError(f"{self.kind} factory `{self.id}`: {error}") from error
        except BaseException as error:  # a component's own code runs here
            raise self._failure(error) from error
        return component

    def _expect_fresh(self, product: object) -> None:
        """Rejects a component that was returned before, because requests of different callers would share it.

        Raises:
            FactoryError: it was returned before.
        """
        if self._products.get(id(product)) is product:
            raise FactoryError(f"{self.kind} factory `{self.id}` returned a component that it returned before")
        try:
            self._products[id(product)] = product
        except TypeError:
            _log.debug("%s factory `%s`: cannot detect a product that is returned twice", self.kind, self.id)


def _expect_one_argument(owner: str, factory: Callable[..., Any]) -> None:
    """Checks that a factory can be called with a RequestContext, if its signature is known.

    Raises:
        ConfigurationError: it cannot.
    """
    try:
        signature = inspect.signature(factory)
    except (ValueError, TypeError):  # the callable is not written in Python
        return
    try:
        signature.bind(None)
    except TypeError as error:
        name = getattr(factory, "__name__", type(factory).__name__)
        raise ConfigurationError(
            f"{owner}: expected a callable that takes one argument, the RequestContext, got `{name}{signature}`"
        ) from error


class AgentFactory(Factory):
    """Builds an agent for every request."""

    kind = Kind.AGENT


class TeamFactory(Factory):
    """Builds a team for every request."""

    kind = Kind.TEAM


class WorkflowFactory(Factory):
    """Builds a workflow for every request."""

    kind = Kind.WORKFLOW
