"""Plugins that mishandle namespaces."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from contract import BadRequest, Namespace, NamespacePatch, NamespaceUpsert, NotFound
from harness.example import ExamplePlugin, Store
from harness.example.store import Space
from tests.acceptance.harness.mutants import edited, mutant


@mutant("PUT answers without the name.", "namespaces.put-creates")
class NamelessAnswer(ExamplePlugin):
    async def put_namespace(self, request: Request) -> Response:
        response = await super().put_namespace(request)
        return edited(response, lambda body: {k: v for k, v in body.items() if k != "name"})


@mutant("Every namespace is of kind custom.", "namespaces.has-four-kinds")
class OneKind(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        if body.kind != "custom":
            body = body.model_copy(update={"kind": "workspace"})
        return super().put_namespace(name, body)


@mutant("A second PUT resets created_at.", "namespaces.put-refreshes", "concurrency.put-at-once")
class PutResetsCreatedAt(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        stored = super().put_namespace(name, body)
        self.spaces[name].stored = stored.model_copy(update={"created_at": self.now()})
        return self.spaces[name].stored


@mutant("A second PUT empties the namespace.", "namespaces.refresh-keeps-memories")
class PutEmpties(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        stored = super().put_namespace(name, body)
        self.drop(name)
        self.spaces[name] = Space(name, stored)
        return stored


@mutant("A second PUT keeps the old kind.", "namespaces.put-changes-the-kind")
class PutKeepsTheKind(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        space = self.live_space(name)
        if space is not None:
            body = body.model_copy(update={"kind": space.stored.kind})
        return super().put_namespace(name, body)


@mutant(
    "PUT with the kind alone wipes the metadata.",
    "namespaces.put-keeps-what-is-absent",
    "isolation.metadata",
)
class PutWipesMetadata(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        if "metadata" not in body.model_fields_set:
            body = body.model_copy(update={"metadata": None})
        return super().put_namespace(name, body)


@mutant("PUT with null leaves the metadata.", "namespaces.put-null-clears")
class PutNullIgnored(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        return super().put_namespace(name, NamespaceUpsert(**body.model_dump(exclude_none=True)))


@mutant("PUT merges the metadata.", "namespaces.put-replaces-metadata")
class PutMergesMetadata(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        space = self.live_space(name)
        if space is not None and body.metadata is not None:
            merged = (space.stored.metadata or {}) | body.metadata
            body = body.model_copy(update={"metadata": merged})
        return super().put_namespace(name, body)


@mutant("PATCH of the metadata resets the kind.", "namespaces.patch-sets-metadata")
class PatchResetsTheKind(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        stored = super().patch_namespace(name, body)
        self.spaces[name].stored = stored.model_copy(update={"kind": "custom"})
        return self.spaces[name].stored


@mutant("PATCH with null leaves the metadata.", "namespaces.patch-null-clears")
class PatchNullIgnored(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        if body.metadata is None and "metadata" in body.model_fields_set:
            return self.spaces[name].stored
        return super().patch_namespace(name, body)


@mutant("PATCH answers null but keeps the metadata.", "namespaces.patch-null-clears")
class PatchNullForgotten(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        before = self.spaces[name].stored if name in self.spaces else None
        stored = super().patch_namespace(name, body)
        if before is not None and body.metadata is None:
            kept = stored.model_copy(update={"metadata": before.metadata})
            self.spaces[name].stored = Namespace(**kept.model_dump(exclude_none=True))
        return stored


@mutant("PATCH with neither field is accepted.", "namespaces.patch-needs-a-field")
class EmptyPatch(ExamplePlugin):
    async def patch_namespace(self, request: Request) -> Response:
        try:
            return await super().patch_namespace(request)
        except BadRequest as error:
            if "at least one" not in error.message:
                raise
            return Response(self.store.spaces[request.path_params["name"]].stored.to_json(), 200)


@mutant("PATCH makes a namespace that does not exist.", "namespaces.patch-unknown")
class PatchCreates(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        if name not in self.spaces:
            self.put_namespace(name, NamespaceUpsert(kind="custom"))
        return super().patch_namespace(name, body)


@mutant("DELETE of an unknown namespace is 204.", "namespaces.delete-unknown")
class DeleteUnknownSucceeds(Store):
    def delete_namespace(self, name: str) -> None:
        self.drop(name)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


@mutant("Metadata loses its nulls.", "namespaces.keeps-metadata-exactly")
class MetadataWithoutNulls(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        if body.metadata is not None:
            body = body.model_copy(update={"metadata": _without_nulls(body.metadata)})
        return super().put_namespace(name, body)


@mutant("Empty metadata becomes none.", "namespaces.keeps-metadata-exactly")
class EmptyMetadataIsNone(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        if body.metadata == {}:
            body = body.model_copy(update={"metadata": None})
        return super().put_namespace(name, body)


@mutant("Names are cut at 200 characters.", "namespaces.long-names")
class ShortNames(ExamplePlugin):
    async def put_namespace(self, request: Request) -> Response:
        request.path_params["name"] = request.path_params["name"][:200]
        return await super().put_namespace(request)


@mutant("A name may have 257 characters.", "namespaces.long-names")
class LongerNames(ExamplePlugin):
    async def put_namespace(self, request: Request) -> Response:
        if len(request.path_params["name"]) == 257:
            request.path_params["name"] = request.path_params["name"][:256]
        return await super().put_namespace(request)


@mutant(
    "Names are folded to lower case.",
    "namespaces.all-characters",
    "isolation.names-are-exact",
)
class LowerCaseNames(ExamplePlugin):
    async def put_namespace(self, request: Request) -> Response:
        request.path_params["name"] = request.path_params["name"].lower()
        return await super().put_namespace(request)

    async def write(self, request: Request) -> Response:
        request.path_params["name"] = request.path_params["name"].lower()
        return await super().write(request)


@mutant("Bad characters in a name are dropped.", "namespaces.bad-names")
class NamesAreCleaned(ExamplePlugin):
    async def put_namespace(self, request: Request) -> Response:
        request.path_params["name"] = request.path_params["name"].rstrip(" !")
        return await super().put_namespace(request)


@mutant("A bad name in the path is not found.", "namespaces.bad-names")
class BadNameIsNotFound(ExamplePlugin):
    async def delete_namespace(self, request: Request) -> Response:
        try:
            return await super().delete_namespace(request)
        except BadRequest as error:
            raise NotFound(error.message) from None


# Deletion


@mutant("DELETE answers 200.", "safety.deletes-what-it-made")
class DeleteAnswers200(ExamplePlugin):
    async def delete_namespace(self, request: Request) -> Response:
        await super().delete_namespace(request)
        return Response("{}", 200)


@mutant("DELETE does nothing.", "safety.deletes-what-it-made")
class DeleteDoesNothing(Store):
    def delete_namespace(self, name: str) -> None:
        pass


@mutant(
    "DELETE leaves memories that come back with the namespace.",
    "deletion.takes-the-memories",
    "consistency.delete-right-away",
    "concurrency.delete-while-writing",
)
class MemoriesComeBack(Store):
    def __init__(self) -> None:
        super().__init__()
        self.ghosts: dict[str, Space] = {}

    def delete_namespace(self, name: str) -> None:
        space = self.live_space(name)
        super().delete_namespace(name)
        if space is not None:
            self.ghosts[name] = space

    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        stored = super().put_namespace(name, body)
        for row in self.ghosts.pop(name, Space(name, stored)).rows.values():
            self.keep(self.spaces[name], row)
        return stored


@mutant("DELETE keeps the metadata for the next one.", "deletion.takes-the-memories")
class MetadataComesBack(Store):
    def __init__(self) -> None:
        super().__init__()
        self.ghosts: dict[str, Namespace] = {}

    def delete_namespace(self, name: str) -> None:
        if name in self.spaces:
            self.ghosts[name] = self.spaces[name].stored
        super().delete_namespace(name)

    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        ghost = self.ghosts.pop(name, None)
        if ghost is not None and ghost.metadata is not None:
            body = body.model_copy(update={"metadata": ghost.metadata})
        return super().put_namespace(name, body)


@mutant("DELETE keeps the ids of its memories.", "deletion.frees-the-ids")
class IdsAreKept(Store):
    def drop(self, name: str) -> None:
        self.spaces.pop(name, None)


@mutant(
    "A write into a deleted namespace brings it back.",
    "deletion.no-write-afterwards",
)
class WriteRevives(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        try:
            return await super().write(request)
        except NotFound:
            deleted = request.path_params["name"] in self.deleted()
            if not deleted:
                raise
            self.store.put_namespace(request.path_params["name"], NamespaceUpsert(kind="custom"))
            return await super().write(request)

    def deleted(self) -> set[str]:
        names: set[str] = self.__dict__.setdefault("_deleted", set())
        return names

    async def delete_namespace(self, request: Request) -> Response:
        response = await super().delete_namespace(request)
        self.deleted().add(request.path_params["name"])
        return response


@mutant("DELETE removes every namespace that starts alike.", "deletion.leaves-the-neighbours")
class DeletesByPrefix(Store):
    def delete_namespace(self, name: str) -> None:
        super().delete_namespace(name)
        for other in [other for other in self.spaces if other.startswith(name)]:
            self.drop(other)


@mutant(
    "DELETE takes _ for any character, as LIKE does.",
    "deletion.leaves-the-neighbours",
)
class DeletesByWildcard(Store):
    def delete_namespace(self, name: str) -> None:
        super().delete_namespace(name)
        for other in list(self.spaces):
            alike = len(other) == len(name) and all(
                ours in ("_", theirs) for ours, theirs in zip(name, other, strict=True)
            )
            if alike:
                self.drop(other)


# Isolation


@mutant(
    "A search also returns namespaces whose names start alike.",
    "isolation.names-that-share-a-prefix",
)
class PrefixLeaks(Store):
    def live_rows(self, names: Any) -> list[Any]:
        wanted = list(names)
        alike = [other for other in self.spaces if any(other.startswith(name) for name in wanted)]
        return super().live_rows(alike)


@mutant(
    "Equal content is stored once for all namespaces.",
    "isolation.same-content",
)
class SharedContent(Store):
    def write(self, name: str, body: Any) -> Any:
        for space in self.spaces.values():
            for row in space.rows.values():
                if row.content == body.content and space.name != name and body.id is None:
                    return super().write(space.name, body.model_copy(update={"id": row.id}))
        return super().write(name, body)


@mutant("PATCH changes every namespace of the same kind.", "isolation.metadata")
class PatchChangesAll(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        stored = super().patch_namespace(name, body)
        for space in self.spaces.values():
            if space.stored.metadata is not None:
                space.stored = space.stored.model_copy(update={"metadata": stored.metadata})
        return stored
