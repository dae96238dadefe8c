"""A client of another make: pytest-lsp (with lsprotocol's types, which refuse what the protocol does not allow).

    pytest_client.py SOURCE_DIR LTRC

Exits with 77 where pytest-lsp is not installed.
"""
import os
import pathlib
import sys

try:
    import pytest
    import pytest_lsp
    from lsprotocol import types
    from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
except ImportError as missing:
    print(f"skipped: pytest-lsp is not installed (pip install pytest-lsp): {missing}")
    sys.exit(77)

PROGRAM = pathlib.Path(os.environ.get("LTR_SOURCE", sys.argv[1] if len(sys.argv) > 1 else ".")).resolve() / "examples/mnist.ltr"


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[os.environ.get("LTRC", "ltrc"), "lsp"]))
async def client(lsp_client: LanguageClient):
    await lsp_client.initialize_session(types.InitializeParams(
        capabilities=client_capabilities("visual-studio-code"), root_uri=PROGRAM.parent.as_uri()))
    yield
    await lsp_client.shutdown_session()


def document(client):
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=types.TextDocumentItem(
        uri=PROGRAM.as_uri(), language_id="ltr", version=1, text=PROGRAM.read_text())))
    return types.TextDocumentIdentifier(uri=PROGRAM.as_uri())


def at(what, shift=0):
    text = PROGRAM.read_text()
    offset = text.index(what) + shift
    return types.Position(line=text.count("\n", 0, offset), character=offset - text.rfind("\n", 0, offset) - 1)


@pytest.mark.asyncio
async def test_diagnostics(client: LanguageClient):
    uri = document(client).uri
    client.text_document_did_change(types.DidChangeTextDocumentParams(
        text_document=types.VersionedTextDocumentIdentifier(uri=uri, version=2),
        content_changes=[types.TextDocumentContentChangePartial(
            range=types.Range(start=at("minimize loss", 9), end=at("minimize loss", 13)), text="los")]))
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert [one.code for one in client.diagnostics[uri]] == ["E0301"]


@pytest.mark.asyncio
async def test_every_answer_is_of_the_protocol(client: LanguageClient):
    identifier = document(client)
    here = {"text_document": identifier, "position": at("logits = net")}
    whole = types.Range(start=types.Position(0, 0), end=types.Position(9999, 0))
    hover = await client.text_document_hover_async(types.HoverParams(**here))
    assert "float[B, classes]" in hover.contents.value
    completion = await client.text_document_completion_async(types.CompletionParams(**here))
    assert any(item.label == "net" for item in completion.items)
    help_ = await client.text_document_signature_help_async(types.SignatureHelpParams(
        text_document=identifier, position=at("padding = 1", 3)))
    assert help_.active_parameter == 4
    definition = await client.text_document_definition_async(types.DefinitionParams(
        text_document=identifier, position=at("Conv2d(1")))
    assert definition.uri.endswith("convolution.ltr")
    assert len(await client.text_document_references_async(types.ReferenceParams(
        **here, context=types.ReferenceContext(include_declaration=True)))) == 4
    assert (await client.text_document_prepare_rename_async(types.PrepareRenameParams(**here))).placeholder == "logits"
    edit = await client.text_document_rename_async(types.RenameParams(**here, new_name="scores"))
    assert len(edit.changes[identifier.uri]) == 4
    assert await client.text_document_document_symbol_async(types.DocumentSymbolParams(identifier))
    assert await client.workspace_symbol_async(types.WorkspaceSymbolParams(query="Linear"))
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    edits = await client.text_document_formatting_async(types.DocumentFormattingParams(identifier, options))
    assert edits is not None and len(edits) == 0
    edits = await client.text_document_range_formatting_async(
        types.DocumentRangeFormattingParams(identifier, whole, options))
    assert edits is not None and len(edits) == 0
    assert await client.text_document_inlay_hint_async(types.InlayHintParams(identifier, whole))
    assert (await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(identifier))).data
    assert await client.text_document_folding_range_async(types.FoldingRangeParams(identifier))
    assert await client.text_document_document_link_async(types.DocumentLinkParams(identifier))
    assert await client.text_document_code_lens_async(types.CodeLensParams(identifier))
    assert len(await client.text_document_code_action_async(types.CodeActionParams(
        identifier, whole, types.CodeActionContext(diagnostics=[])))) == 0


if __name__ == "__main__":
    os.environ["LTR_SOURCE"], os.environ["LTRC"] = sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve())
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", __file__]))
