// The findings of a client of the official Go SDK at a server.
//
// Usage: facts REVISION URL, or sign-in URL
//
// It prints one line of JSON, which tests/interop/languages_suite.ts compares.
// To sign in it prints "AUTHORIZE " and an address first, and reads from
// standard input where the browser arrived.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const redirectURI = "http://127.0.0.1:1/callback"

type facts map[string]any

func main() {
	log.SetFlags(0)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var found facts
	var err error
	if os.Args[1] == "sign-in" {
		found, err = signIn(ctx, os.Args[2])
	} else {
		found, err = look(ctx, os.Args[1], os.Args[2])
	}
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(found)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

func look(ctx context.Context, revision, endpoint string) (facts, error) {
	steps := make(chan float64, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]any{"name": "Ada"}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			steps <- request.Params.Progress
		},
	})
	session, err := client.Connect(
		ctx,
		&mcp.StreamableClientTransport{Endpoint: endpoint},
		&mcp.ClientSessionOptions{ProtocolVersion: revision},
	)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	found := facts{"revision": session.InitializeResult().ProtocolVersion}

	var tools, templates, prompts []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool.Name)
	}
	for template, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return nil, err
		}
		templates = append(templates, template.Name)
	}
	for prompt, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		prompts = append(prompts, prompt.Name)
	}
	found["tools"], found["templates"], found["prompts"] = tools, templates, prompts

	note, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "notes://7"})
	if err != nil {
		return nil, err
	}
	found["note"] = note.Contents[0].Text
	explained, err := session.GetPrompt(ctx, &mcp.GetPromptParams{
		Name:      "explain",
		Arguments: map[string]string{"topic": "tides"},
	})
	if err != nil {
		return nil, err
	}
	found["explain"] = explained.Messages[0].Content.(*mcp.TextContent).Text

	calls := []*mcp.CallToolParams{
		{Name: "greet", Arguments: map[string]any{"name": "Ada"}},
		// A nil map is written as null.
		{Name: "bare", Arguments: map[string]any(nil)},
		{Name: "fill"},
	}
	for _, params := range calls {
		if found[params.Name], err = call(ctx, session, params); err != nil {
			return nil, err
		}
	}
	weighty := []string{"large"}
	if found["revision"] != "2026-07-28" {
		weighty = append(weighty, "late")
	}
	for _, name := range weighty {
		text, err := call(ctx, session, &mcp.CallToolParams{Name: name})
		if err != nil {
			return nil, err
		}
		found[name] = len(text)
	}

	counting := &mcp.CallToolParams{Name: "count", Meta: mcp.Meta{"progressToken": "steps"}}
	if found["count"], err = call(ctx, session, counting); err != nil {
		return nil, err
	}
	found["steps"] = []float64{<-steps, <-steps, <-steps}
	found["cancelled"], err = cancelACall(ctx, session)
	return found, err
}

func call(ctx context.Context, session *mcp.ClientSession, params *mcp.CallToolParams) (string, error) {
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return "", fmt.Errorf("%s: %w", params.Name, err)
	}
	return result.Content[0].(*mcp.TextContent).Text, nil
}

// cancelACall leaves a call that never ends, and waits until the server knows.
func cancelACall(ctx context.Context, session *mcp.ClientSession) (bool, error) {
	impatient, stop := context.WithTimeout(ctx, 500*time.Millisecond)
	defer stop()
	key := map[string]any{"key": rand.Text()}
	wait := &mcp.CallToolParams{Name: "wait", Arguments: key}
	if _, err := call(impatient, session, wait); err == nil {
		return false, nil
	}
	for {
		text, err := call(ctx, session, &mcp.CallToolParams{Name: "cancelled", Arguments: key})
		if err != nil || text == "true" {
			return err == nil, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// signIn calls a tool that takes one scope, then one that takes another.
func signIn(ctx context.Context, endpoint string) (facts, error) {
	visits := 0
	input := bufio.NewReader(os.Stdin)
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName:              "interop",
				RedirectURIs:            []string{redirectURI},
				TokenEndpointAuthMethod: "none",
			},
		},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			visits++
			fmt.Println("AUTHORIZE", args.URL)
			line, err := input.ReadString('\n')
			if err != nil {
				return nil, err
			}
			arrival, err := url.Parse(line[:len(line)-1])
			if err != nil {
				return nil, err
			}
			query := arrival.Query()
			return &auth.AuthorizationResult{
				Code:  query.Get("code"),
				State: query.Get("state"),
				Iss:   query.Get("iss"),
			}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: handler}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	found := facts{}
	for _, name := range []string{"open", "guarded"} {
		if found[name], err = call(ctx, session, &mcp.CallToolParams{Name: name}); err != nil {
			return nil, err
		}
	}
	found["visits"] = visits
	return found, nil
}
